import CallVocabulary
import EventLoop
import Logging
import PushCore
import PushVocabulary
import Synchronization

/// Sends the call core's pushes to APNs, FCM and Web Push services, on its own loop and thread or on an existing loop.
///
/// Each push takes two steps. ``queue(_:)`` leads to ``PushEvent/ready(_:)`` once a stream is free. Then the core
/// decides again: it commits the push as sent and calls ``transmit(_:)``, or calls ``drop(_:)``. Every transmitted push
/// has exactly one final ``PushEvent/outcome(_:_:)``; `.returned` is not final, and the push is announced again. A
/// started service must be stopped. Before the start and after the stop it accepts nothing: the core keeps such pushes
/// as intended for the next start.
public final class PushService: Sendable {
    public struct Configuration: Sendable {
        /// One or more for each environment, distinguished by their topics; tokens without an endpoint get no pushes.
        public var apns: [APNSEndpoint]
        /// At most one for each Firebase project.
        public var fcm: [FCMEndpoint]
        /// The sender of Web Push; nil for none.
        public var webPush: WebPushEndpoint?
        /// Whether iPhone alerts go through FCM, in the first project, with tokens mapped from their APNs tokens.
        public var mapsIOSAlerts = false
        /// The texts of pushes that the system shows.
        public var texts = AlertTexts()
        /// The payload profiles, and which topic gets which.
        public var profiles = PayloadProfiles()
        /// The most messages from the core that wait for the push loop.
        public var mailboxCapacity = 65_536
        /// The longest time that ``PushService/stop()`` waits for answers.
        public var stopGrace = Duration.seconds(2)
        /// Advice for missing credentials, in the outcome's reason.
        public var credentialsHint = "configure credentials for it"

        public init(apns: [APNSEndpoint] = [], fcm: [FCMEndpoint] = [], webPush: WebPushEndpoint? = nil) {
            self.apns = apns
            self.fcm = fcm
            self.webPush = webPush
        }

        /// Whether there is no credential at all.
        public var isEmpty: Bool { apns.isEmpty && fcm.isEmpty && webPush == nil }
    }

    /// A reference type, because each message takes it out of the lock.
    private final class Running: Sendable {
        let loop: EventLoop
        let mailbox: Mailbox<PushDispatcher.Message>
        let dispatcher: LoopBound<PushDispatcher>
        let ownsLoop: Bool

        init(
            loop: EventLoop, ownsLoop: Bool, mailbox: Mailbox<PushDispatcher.Message>,
            dispatcher: LoopBound<PushDispatcher>
        ) {
            self.loop = loop
            self.ownsLoop = ownsLoop
            self.mailbox = mailbox
            self.dispatcher = dispatcher
        }
    }

    private let configuration: Configuration
    private let now: @Sendable () -> Instant
    private let wall: @Sendable (Instant) -> Instant
    private let mintWakeToken: @Sendable (PushIntent) throws -> String
    private let log: Logger
    private let maySend: @Sendable () -> Bool
    private let onEvent: @Sendable ([PushEvent]) -> Void
    private let running = Mutex<Running?>(nil)
    private let latest = Mutex(PushStatistics())
    private let profiles: Mutex<PayloadProfiles>
    private let webPush = Mutex<WebPushRoutes?>(nil)

    /// - Parameters:
    ///   - now: the server's timeline; never goes back.
    ///   - wall: converts a time of it to wall time, which providers get.
    ///   - mintWakeToken: makes the token for a session limited to the push's call and device. Called on the push loop
    ///     for each push; it must take microseconds only.
    ///   - onEvent: called on the push loop with a batch of events, in order.
    public init(
        configuration: Configuration, now: @escaping @Sendable () -> Instant,
        wall: @escaping @Sendable (Instant) -> Instant = { $0 },
        mintWakeToken: @escaping @Sendable (PushIntent) throws -> String, log: Logger,
        maySend: @escaping @Sendable () -> Bool = { true }, onEvent: @escaping @Sendable ([PushEvent]) -> Void
    ) {
        self.configuration = configuration
        profiles = Mutex(configuration.profiles)
        self.now = now
        self.wall = wall
        self.mintWakeToken = mintWakeToken
        self.log = log
        self.maySend = maySend
        self.onEvent = onEvent
    }

    /// Starts the service. Call it once.
    /// - Parameter shared: an existing loop, which must run until ``stop()`` has returned. nil starts an own loop and
    ///   thread.
    /// - Throws: ``PushConfigurationError`` for an unusable key or trust file, `SystemError` without descriptors.
    public func start(on shared: EventLoop? = nil) throws {
        let routes = try configuration.routes()
        let webPush = try configuration.webPush.flatMap { try WebPushRoutes($0) }
        self.webPush.withLock { $0 = webPush }
        let loop = try shared ?? EventLoop(name: "push")
        let dispatcher = PushDispatcher(
            configuration: configuration, loop: loop, mintWakeToken: mintWakeToken, now: now,
            wall: wall, log: log, maySend: maySend
        ) { [self] events, statistics in
            latest.withLock { $0 = statistics }
            if !events.isEmpty { onEvent(events) }
        }
        let bound = LoopBound(dispatcher, on: loop)
        let mailbox = Mailbox<PushDispatcher.Message>(loop: loop, capacity: configuration.mailboxCapacity) {
            bound.value.receive(&$0)
        }
        running.withLock { running in
            precondition(running == nil, "a push service is started once")
            running = Running(loop: loop, ownsLoop: shared == nil, mailbox: mailbox, dispatcher: bound)
        }
        loop.execute {
            for route in routes { bound.value.add(route) }
            bound.value.add(webPush)
        }
        if shared == nil { loop.start() }
    }

    /// A checked configuration for ``PushService/reload(_:)``.
    public struct Reload: Sendable {
        let configuration: Configuration
        let routes: [PushRoute]
        let webPush: WebPushRoutes?

        /// - Throws: ``PushConfigurationError`` with source, field and problem.
        public init(_ configuration: Configuration) throws {
            self.configuration = configuration
            routes = try configuration.routes()
            webPush = try configuration.webPush.flatMap { try WebPushRoutes($0) }
        }
    }

    /// Applies other credentials, endpoints and texts. Waiting pushes use the new ones; answers to sent pushes are
    /// awaited on their old connections. An unchanged credential stays untouched, and a changed one is tried again. A
    /// removed credential ends its waiting pushes as unsent. Returns once that is done. The mailbox capacity, the grace
    /// of the stop and the policies of existing endpoints stay unchanged.
    public func reload(_ reload: Reload) async {
        guard let running = current() else { return }
        profiles.withLock { $0 = reload.configuration.profiles }
        webPush.withLock { $0 = reload.webPush }
        _ = await running.loop.run {
            running.dispatcher.value.reload(reload.configuration, reload.routes, reload.webPush)
        }
    }

    /// Accepts nothing more, waits for answers up to the grace (the rest ends as unknown), and ends its own thread.
    /// Queued pushes that were never sent have no outcome, or `.returned`.
    /// - Parameter grace: how long to wait for outcomes; nil for the configured time.
    public func stop(grace: Duration? = nil) async {
        guard let running = running.withLock({ $0 }) else { return }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isPosted = running.loop.execute { [configuration] in
                PushShutdown(loop: running.loop, dispatcher: running.dispatcher.value)
                    .start(grace: grace ?? configuration.stopGrace) { continuation.resume() }
            }
            if !isPosted { continuation.resume() }
        }
        if running.ownsLoop { await running.loop.stopAndWait() }
        self.running.withLock { $0 = nil }
    }

    /// Accepts a push. Its first event is `ready` or an outcome: `.unsent` when no route or no space exists. A push
    /// that is already queued stays unchanged. Any thread.
    public func queue(_ intent: PushIntent) {
        guard let running = current() else { return }
        guard !running.mailbox.post(.queue(PushPreparation.Job(intent: intent, mapped: nil))) else { return }
        running.loop.execute { running.dispatcher.value.refuse(intent.id) }
    }

    /// Sends the push, which the core has committed as sent. Any thread.
    public func transmit(_ id: PushID) {
        post(.transmit(id))
    }

    /// Drops the push. No effect once it was transmitted. Any thread.
    public func drop(_ id: PushID) {
        post(.drop(id))
    }

    /// As of the last turn of the push loop. Any thread.
    public var statistics: PushStatistics { latest.withLock { $0 } }

    /// The names of the payload profiles, sorted. Any thread may call this.
    public var profileNames: [String] { profiles.withLock { $0.names } }

    /// The key with which pages subscribe; nil without Web Push, and before the start. Any thread.
    public var applicationServerKey: String? { webPush.withLock { $0?.key.applicationServerKey } }

    /// What is wrong with a subscription that has no ``PushToken/fault``, as far as this server knows. nil when there is
    /// nothing, and for other providers than Web Push. Any thread.
    /// - Parameter isUpdate: whether the server must be able to push to it now.
    public func fault(of token: PushToken, isUpdate: Bool) -> PushTokenFault? {
        guard let subscription = token.subscription else { return nil }
        guard subscription.isKeyValid else {
            return PushTokenFault(member: .token, expected: "a subscription whose p256dh is a point of the curve P-256")
        }
        let webPush = webPush.withLock { $0 }
        if let problem = webPush?.problem(of: subscription) {
            return PushTokenFault(member: .token, expected: "another push service: \(problem)")
        }
        guard isUpdate else { return nil }
        guard let key = webPush?.key.applicationServerKey else {
            return PushTokenFault(
                member: .token, expected: "a token of apns or fcm: this server has no Web Push (push.webpush.subject)")
        }
        guard token.topic == key else {
            return PushTokenFault(
                member: .topic, expected: "the key in webpush of session.open, with which the page must subscribe again"
            )
        }
        return nil
    }

    private func post(_ message: PushDispatcher.Message) {
        guard let running = current(), !running.mailbox.post(message) else { return }
        // The core's decision on an announced push must not be lost, so it takes the unbounded queue. There is at most
        // one decision for each announced push, and announced pushes are bounded.
        running.loop.execute { running.dispatcher.value.receive(message) }
    }

    /// The service's loop; nil before the start and after the stop.
    var loop: EventLoop? { current()?.loop }

    /// Handles a suspension of the machine: overdue work is done now. Any thread.
    /// - Parameter isSet: the system clock was set: tokens signed by wall time are signed again.
    public func clockChanged(isSet: Bool) {
        guard let running = current() else { return }
        running.loop.execute { running.dispatcher.value.clockChanged(isSet: isSet) }
    }

    private func current() -> Running? {
        running.withLock { $0 }
    }
}
