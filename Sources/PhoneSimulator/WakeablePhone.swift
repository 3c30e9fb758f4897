import CallVocabulary
import EventLoop
import HTTP2
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import Synchronization
import TLS

/// A simulated iPhone, Android phone or browser: a ``SoftphoneKit/Softphone`` as the app, and a ``PushSimulator/PhoneLink`` as
/// the system.
///
/// Behaves like an app with PushKit or FCM data messages. It registers its device token with the server and sleeps. A
/// push launches it; it shows the call, reports it to the system and the server, and connects. It sleeps again after
/// the last call. iOS kills an app that does not report a push; Android removes the high priority of its messages.
///
/// A browser's service worker shows a notification for each push, and reports it over HTTP. The user's click opens the
/// page, which connects. A browser that shows nothing three times ends the subscription.
///
/// Any thread. Its parts are confined to the runtime's loop.
public final class WakeablePhone: Sendable {
    public enum System: String, Sendable, CaseIterable {
        case iPhone = "ios"
        case android
        /// A browser, woken by Web Push.
        case web
    }

    /// What the user does with a notification of a call in a browser.
    public enum Click: Sendable, CaseIterable {
        /// Opens the page, which connects and rings.
        case open
        /// The service worker declines the call, without the page.
        case decline
        case none
    }

    /// A request that a service worker sends over HTTP.
    public enum WorkerRequest: Sendable, CaseIterable {
        case report, decline
    }

    public struct Configuration: Sendable {
        /// The app's server, user token and device.
        public var softphone: Softphone.Configuration
        public var simulatorFolder: String
        public var environment = PushEnvironment.production
        public var system = System.iPhone
        /// The installed app, which determines how it reads pushes.
        public var app = PhoneApp.reveille
        /// The payload profile requested with the token; nil for the profile of the topic.
        public var profile: String?
        /// Whether an iPhone also registers a token for alerts, with the bundle as its topic.
        public var takesAlerts = false
        /// Connections shared by the phones of one loop; nil opens one for this phone. Replaces ``simulatorFolder`` and
        /// ``environment``.
        public var links: PhoneLinks?
        /// Shown in the simulator's state.
        public var name: String
        /// The token of an earlier run; nil requests a new one.
        public var deviceToken: String?
        /// The server's key that a browser's ``deviceToken`` was made with. A server with another key needs a new one.
        public var serverKey: String?
        /// The alert token of an earlier run; nil requests a new one.
        public var alertToken: String?
        /// Whether the app reports its pushes. An app that does not ignores them, stays offline, and is killed.
        public var reportsPushes = true
        public var sleepsAfterCalls = true
        /// For a browser.
        public var click = Click.open
        /// The trust anchors of a browser's HTTP requests to a `wss` server.
        public var trust = TLSClientContext.Trust.system

        public init(softphone: Softphone.Configuration, simulatorFolder: String, name: String) {
            self.softphone = softphone
            self.simulatorFolder = simulatorFolder
            self.name = name
        }
    }

    /// A push without a ringing call: an alert or a background task.
    public struct Notice: Equatable, Sendable {
        public var title: String?
        public var body: String?
        /// The payload's `type`: `missed_call`, `sync`; nil for an alert of a call.
        public var type: String?
    }

    public enum Event: Sendable {
        /// Any push arrived. ``woken(_:)`` or ``notified(_:)`` follows.
        case pushed(PhoneLink.Push)
        case woken(CallPush)
        /// The app cannot show the call of a push: it reports nothing, or crashes.
        case failed(reason: String)
        /// The system showed an alert, or passed the app a background push.
        case notified(Notice)
        case reportedToSystem(CallPush)
        /// The server replied to the report of the push, or the report failed.
        case reportedToServer(CallPush, failure: SoftphoneError?)
        /// The server answered the service worker; `failure` tells why it did not accept the request.
        case workerSent(WorkerRequest, CallPush, failure: String?)
        /// The system killed the app for unreported pushes.
        case killed(isVoIPBlocked: Bool)
        /// The link to the push simulator closed; the phone cannot be woken.
        case unreachable(reason: String)
        case app(SoftphoneEvent)
        /// Offline and ready for a push.
        case asleep
    }

    /// Why the phone cannot be set up.
    public struct Failure: Error, CustomStringConvertible, Sendable {
        public let description: String
    }

    /// Called on the loop's thread, in order; it must not block.
    public typealias EventHandler = @Sendable (WakeablePhone, Event) -> Void

    public let softphone: Softphone
    private let configuration: Configuration
    private let body: LoopBound<PhoneBody>

    /// - Throws: `SoftphoneError.badURL`, `SystemError` without descriptors, ``Failure`` without a push simulator.
    public convenience init(
        configuration: Configuration, runtime: SoftphoneRuntime? = nil, onEvent: @escaping EventHandler
    ) throws {
        let runtime = try runtime ?? SoftphoneRuntime()
        let links =
            try configuration.links
            ?? PhoneLinks(
                simulatorFolder: configuration.simulatorFolder, environment: configuration.environment,
                loop: runtime.loop)
        let topic = links.manifest.topic
        let addresses: PhoneBody.Addresses
        switch configuration.system {
        case .iPhone:
            addresses = PhoneBody.Addresses(
                call: topic + ".voip", alerts: configuration.takesAlerts ? topic : nil)
        case .android: addresses = PhoneBody.Addresses(call: try links.project())
        // The server names its key when the page connects.
        case .web: addresses = PhoneBody.Addresses(call: "")
        }
        try self.init(configuration, addresses, links, runtime, onEvent)
    }

    private init(
        _ configuration: Configuration, _ addresses: PhoneBody.Addresses, _ links: PhoneLinks,
        _ runtime: SoftphoneRuntime, _ onEvent: @escaping EventHandler
    ) throws {
        var softphoneConfiguration = configuration.softphone
        // ``PhoneBody`` reports the push and observes the reply.
        softphoneConfiguration.session.automaticReport = nil
        self.configuration = configuration
        let worker =
            configuration.system == .web
            ? try ServiceWorker(loop: runtime.loop, server: configuration.softphone.url, trust: configuration.trust)
            : nil
        let body = PhoneBody(configuration: configuration, addresses: addresses, links: links, worker: worker)
        let bound = LoopBound(body, on: runtime.loop)
        self.body = bound
        softphone = try Softphone(configuration: softphoneConfiguration, runtime: runtime) { softphone, event in
            bound.value.appSaid(event, softphone)
        }
        body.softphone = softphone
        body.onEvent = { [weak self] event in
            if let self { onEvent(self, event) }
        }
    }

    deinit {
        body.loop.execute { [body] in body.value.switchOff() }
    }

    /// Obtains a device token, registers it with the server in one session, and sleeps unless a call rings.
    /// - Returns: the device token; for a browser the subscription.
    /// - Throws: ``Failure`` or `SoftphoneError`.
    @discardableResult
    public func setUp() async throws -> String {
        if configuration.system == .web { return try await subscribe() }
        let token = try await attach()
        let pushes = await body.loop.run { [body] in body.value.pushTokens(token) }
        guard let pushes else { throw Failure(description: "the phone's loop has stopped") }
        try await softphone.connect()
        try await softphone.updatePushTokens(pushes)
        await sleepIfIdle()
        return token
    }

    /// The page subscribes with the key that the server names.
    private func subscribe() async throws -> String {
        guard let key = try await softphone.connect().webPushKey else {
            throw Failure(
                description: "the server has no Web Push: start it with --push-sim, or with push.webpush.subject")
        }
        _ = await body.loop.run { [body] in body.value.serverKey = key }
        let token = try await attach()
        let pushes = await body.loop.run { [body] in body.value.pushTokens(token) }
        guard let pushes else { throw Failure(description: "the phone's loop has stopped") }
        try await softphone.updatePushTokens(pushes)
        await sleepIfIdle()
        return token
    }

    private func sleepIfIdle() async {
        // The session may deliver a call that already rings: the phone sleeps after it.
        let hasCall = await body.loop.run { [body] in body.value.hasCall } ?? false
        if !hasCall { await softphone.disconnect() }
    }

    /// The alert token, after ``setUp()``; nil without one.
    public func alertToken() async -> String? {
        await body.loop.run { [body] in body.value.alertToken } ?? nil
    }

    /// The server's key that a browser subscribed with, after ``setUp()``.
    public func serverKey() async -> String? {
        await body.loop.run { [body] in body.value.serverKey }
    }

    private func attach() async throws -> String {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<String, any Error>) in
            let isRunning = body.loop.execute { [body] in
                body.value.switchOn { continuation.resume(with: $0.mapError { $0 }) }
            }
            if !isRunning { continuation.resume(throwing: Failure(description: "the phone's loop has stopped")) }
        }
    }

    /// Orders a fault for pushes to this phone. On the phone's loop.
    /// - Returns: false, and `completion` is not called, when the phone is unreachable for pushes.
    public func injectPushFault(_ order: PushFaultOrder, completion: @escaping (_ isTaken: Bool) -> Void) -> Bool {
        body.value.inject(order, completion: completion)
    }

    /// Simulates an action of the user or of the network. On the phone's loop.
    /// - Parameter completion: called when the state holds, or when the push simulator refuses it.
    /// - Returns: false, and `completion` is not called, when the phone is unreachable for pushes.
    public func move(to state: PhoneLink.PhoneState, completion: @escaping (_ isTaken: Bool) -> Void) -> Bool {
        body.value.move(to: state, completion: completion)
    }

    /// The same from any thread but the phone's.
    /// - Returns: whether the push simulator took it.
    public func move(to state: PhoneLink.PhoneState) async -> Bool {
        await withCheckedContinuation { continuation in
            let isRunning = body.loop.execute { [body] in
                let isAsked = body.value.move(to: state) { continuation.resume(returning: $0) }
                if !isAsked { continuation.resume(returning: false) }
            }
            if !isRunning { continuation.resume(returning: false) }
        }
    }

    /// Closes the link to the push simulator, as a phone that is switched off, and ends the app.
    public func switchOff() async {
        _ = await body.loop.run { [body] in body.value.switchOff() }
        softphone.abandon()
    }
}
