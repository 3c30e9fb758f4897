import CallVocabulary
import EventLoop
import Logging
import PushCore
import PushVocabulary
import Synchronization

/// Sends the call core's pushes to APNs and FCM, on a loop and thread of its own, or on one that it is given.
///
/// Each push takes two steps: ``queue(_:)`` leads to ``PushEvent/ready(_:)`` once a stream is free for it; then the
/// core looks once more whether the push is still wanted, commits it as sent, and says ``transmit(_:)``, or
/// ``drop(_:)``. Every push transmitted has exactly one final ``PushEvent/outcome(_:_:)``; `.returned` is not final,
/// the push is announced again. Once started it has to be stopped. Before the start and after the stop it takes nothing:
/// what the core keeps as intended waits for the next start.
public final class PushService: Sendable {
    public struct Configuration: Sendable {
        /// One or more for each environment, told apart by their topics; a token without one is not pushed to.
        public var apns: [APNSEndpoint]
        /// At most one for each Firebase project.
        public var fcm: [FCMEndpoint]
        /// Whether alerts for iPhones go through FCM, by tokens mapped from their APNs tokens, in the first project.
        public var mapsIOSAlerts = false
        /// The words of pushes that are shown by the system.
        public var texts = AlertTexts()
        /// Messages from the core that wait for the push loop at most.
        public var mailboxCapacity = 65_536
        /// How long ``PushService/stop()`` waits for answers.
        public var stopGrace = Duration.seconds(2)
        /// What to do about missing credentials, for the outcome's reason.
        public var credentialsHint = "configure credentials for it"

        public init(apns: [APNSEndpoint] = [], fcm: [FCMEndpoint] = []) {
            self.apns = apns
            self.fcm = fcm
        }
    }

    /// A reference, because it is taken out of the lock for every message.
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
    private let onEvent: @Sendable ([PushEvent]) -> Void
    private let running = Mutex<Running?>(nil)
    private let latest = Mutex(PushStatistics())

    /// - Parameters:
    ///   - now: the server's timeline; never goes back.
    ///   - wall: a time of it as wall time, which is what providers are told.
    ///   - mintWakeToken: makes the token that opens a session limited to the push's call and device. Called on the push
    ///     loop, for one push after the other; it has to be a matter of microseconds.
    ///   - onEvent: called on the push loop, in order, with all that came together.
    public init(
        configuration: Configuration, now: @escaping @Sendable () -> Instant,
        wall: @escaping @Sendable (Instant) -> Instant = { $0 },
        mintWakeToken: @escaping @Sendable (PushIntent) throws -> String, log: Logger,
        onEvent: @escaping @Sendable ([PushEvent]) -> Void
    ) {
        self.configuration = configuration
        self.now = now
        self.wall = wall
        self.mintWakeToken = mintWakeToken
        self.log = log
        self.onEvent = onEvent
    }

    /// Starts, once only.
    /// - Parameter shared: a loop that runs already, or will, and goes on until ``stop()`` has returned. Without one it
    ///   has its own, and starts the thread.
    /// - Throws: ``PushConfigurationError`` for a key or a trust file that cannot be used, `SystemError` without
    ///   descriptors.
    public func start(on shared: EventLoop? = nil) throws {
        let routes = try configuration.routes()
        warnOfExpiry(routes)
        let loop = try shared ?? EventLoop(name: "push")
        let dispatcher = PushDispatcher(
            configuration: configuration, loop: loop, mintWakeToken: mintWakeToken, now: now,
            wall: wall, log: log
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
        }
        if shared == nil { loop.start() }
    }

    /// A configuration that was found good, to be taken over.
    public struct Reload: Sendable {
        let configuration: Configuration
        let routes: [PushRoute]

        /// - Throws: ``PushConfigurationError``, which says where, what and why.
        public init(_ configuration: Configuration) throws {
            self.configuration = configuration
            routes = try configuration.routes()
        }
    }

    /// Takes over other credentials, endpoints and texts while it runs: what waits goes out with the new ones, what is on
    /// the wire is awaited on its old connection. A credential that is the same stays untouched, one that has changed is
    /// given a new chance, and one that is gone ends what waits for it as unsent. Returns once that is done. The capacity
    /// of the mailbox, the grace of the stop and the policies of endpoints that are there stay as they are.
    public func reload(_ reload: Reload) async {
        guard let running = current() else { return }
        warnOfExpiry(reload.routes)
        _ = await running.loop.run { running.dispatcher.value.reload(reload.configuration, reload.routes) }
    }

    /// Takes nothing more, waits for the answers to what is on the wire (up to the grace; the rest ends as unknown),
    /// and ends the thread, if it is its own. What was queued and is not on the wire has no outcome, or `.returned`: it was
    /// never sent.
    public func stop() async {
        guard let running = running.withLock({ $0 }) else { return }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isPosted = running.loop.execute { [configuration] in
                PushShutdown(loop: running.loop, dispatcher: running.dispatcher.value)
                    .start(grace: configuration.stopGrace) { continuation.resume() }
            }
            if !isPosted { continuation.resume() }
        }
        if running.ownsLoop { await running.loop.stopAndWait() }
        self.running.withLock { $0 = nil }
    }

    /// Takes a push. Its first event is `ready`, or an outcome: `.unsent` when there is no way to send it or no room.
    /// Any thread may call this. A push that is in here already is left as it is.
    public func queue(_ intent: PushIntent) {
        guard let running = current() else { return }
        guard !running.mailbox.post(.queue(PushPreparation.Job(intent: intent, mapped: nil))) else { return }
        running.loop.execute { running.dispatcher.value.refuse(intent.id) }
    }

    /// The core has committed the push as sent: it goes out now. Any thread may call this.
    public func transmit(_ id: PushID) {
        post(.transmit(id))
    }

    /// The push is not wanted any more. Of no effect once it was transmitted. Any thread may call this.
    public func drop(_ id: PushID) {
        post(.drop(id))
    }

    /// As of the last turn of the push loop. Any thread may call this.
    public var statistics: PushStatistics { latest.withLock { $0 } }

    private func post(_ message: PushDispatcher.Message) {
        guard let running = current(), !running.mailbox.post(message) else { return }
        // The core's word on a push that was taken must not be lost, so it takes the way that has no bound. There is
        // at most one for each push announced, and those are bounded.
        running.loop.execute { running.dispatcher.value.receive(message) }
    }

    /// The loop it is on; nil before the start and after the stop.
    var loop: EventLoop? { current()?.loop }

    /// The machine was suspended: what fell due meanwhile is done. Any thread may call this.
    /// - Parameter isSet: the system clock was set: what is signed by wall time is signed anew.
    public func clockChanged(isSet: Bool) {
        guard let running = current() else { return }
        running.loop.execute { running.dispatcher.value.clockChanged(isSet: isSet) }
    }

    private func current() -> Running? {
        running.withLock { $0 }
    }

    private func warnOfExpiry(_ routes: [PushRoute]) {
        for route in routes {
            guard case .certificate(let certificate) = route.credential,
                let problem = certificate.expiry(now: wall(now()))
            else { continue }
            log.warning(
                "\(route.name): \(problem)",
                metadata: ["topics": .string("\(certificate.topics.sorted().joined(separator: ", "))")])
        }
    }
}
