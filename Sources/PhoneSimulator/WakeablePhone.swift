import CallVocabulary
import EventLoop
import HTTP2
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import Synchronization

/// A whole phone, an iPhone or one with Android: the app is a ``SoftphoneKit/Softphone``, the system a
/// ``PushSimulator/PhoneLink`` to the push simulator.
///
/// It does what an app on PushKit, or with FCM's data messages, does: registers its device token with the server, goes
/// to sleep, is launched by a push, shows the call and says so to the system and to the server, connects, and sleeps
/// again after the last call. A push that it does not report has iOS kill it, as on a real phone; Android takes its
/// messages' high priority away.
///
/// Any thread. Its parts live on the loop of the runtime.
public final class WakeablePhone: Sendable {
    public enum System: String, Sendable, CaseIterable {
        case iPhone = "ios"
        case android
    }

    public struct Configuration: Sendable {
        /// The app: server, user token, device.
        public var softphone: Softphone.Configuration
        /// The data folder of the push simulator.
        public var simulatorFolder: String
        public var environment = PushEnvironment.production
        public var system = System.iPhone
        /// Which app is installed: the rules by which it reads pushes.
        public var app = PhoneApp.reveille
        /// The payload profile that the app asks for with its token; nil for that of its topic.
        public var profile: String?
        /// Whether an iPhone registers a token for alerts too, with the app's bundle as its topic.
        public var takesAlerts = false
        /// Shared by phones on one loop; nil makes a connection for this phone alone. Names the simulator and the
        /// environment in place of ``simulatorFolder`` and ``environment``.
        public var links: PhoneLinks?
        /// For people who look at the simulator's state.
        public var name: String
        /// The token of an earlier run; nil asks for a new one.
        public var deviceToken: String?
        /// The same for alerts.
        public var alertToken: String?
        /// Whether the app keeps to the contract and reports its pushes. One that does not hangs: it does nothing about
        /// them, does not go online, and is ended.
        public var reportsPushes = true
        /// Goes offline after the last call, to be woken by the next.
        public var sleepsAfterCalls = true

        public init(softphone: Softphone.Configuration, simulatorFolder: String, name: String) {
            self.softphone = softphone
            self.simulatorFolder = simulatorFolder
            self.name = name
        }
    }

    /// What the system shows, or gives the app to do, beside a ringing call.
    public struct Notice: Equatable, Sendable {
        public var title: String?
        public var body: String?
        /// The payload's `type`: `missed_call`, `sync`; nil for a call's alert.
        public var type: String?
    }

    public enum Event: Sendable {
        /// A push has come, whatever it is; ``woken(_:)`` and ``notified(_:)`` say what the system makes of it.
        case pushed(PhoneLink.Push)
        /// The system has launched the app for a push.
        case woken(CallPush)
        /// The app cannot show the call of a push: it reports nothing, or crashes.
        case failed(reason: String)
        /// The system has shown an alert, or given the app a background push.
        case notified(Notice)
        /// The system has been told that the call is shown.
        case reportedToSystem(CallPush)
        /// The server has answered the app's word on the push, or never will.
        case reportedToServer(CallPush, failure: SoftphoneError?)
        /// The system has ended the app, for pushes it did not report.
        case killed(isVoIPBlocked: Bool)
        /// The link to the push simulator is gone; the phone cannot be woken any more.
        case unreachable(reason: String)
        case app(SoftphoneEvent)
        /// Offline, and ready to be woken.
        case asleep
    }

    /// Why the phone cannot be set up.
    public struct Failure: Error, CustomStringConvertible, Sendable {
        public let description: String
    }

    /// Called on the loop's thread, in order; it must be quick.
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
        }
        try self.init(configuration, addresses, links, runtime, onEvent)
    }

    private init(
        _ configuration: Configuration, _ addresses: PhoneBody.Addresses, _ links: PhoneLinks,
        _ runtime: SoftphoneRuntime, _ onEvent: @escaping EventHandler
    ) throws {
        var softphoneConfiguration = configuration.softphone
        // The body reports, and tells of the answer.
        softphoneConfiguration.session.automaticReport = nil
        self.configuration = configuration
        let body = PhoneBody(configuration: configuration, addresses: addresses, links: links)
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

    /// Gets a device token, opens one session to register it with the server, and goes to sleep unless a call rings.
    /// - Returns: the device token.
    /// - Throws: ``Failure`` or `SoftphoneError`.
    @discardableResult
    public func setUp() async throws -> String {
        let token = try await attach()
        let pushes = await body.loop.run { [body] in body.value.pushTokens(token) }
        guard let pushes else { throw Failure(description: "the phone's loop has stopped") }
        try await softphone.connect()
        try await softphone.updatePushTokens(pushes)
        // A call that rang already has come with the session: the phone sleeps after it.
        let hasCall = await body.loop.run { [body] in body.value.hasCall } ?? false
        if !hasCall { await softphone.disconnect() }
        return token
    }

    /// The token for alerts, once ``setUp()`` has returned; nil without one.
    public func alertToken() async -> String? {
        await body.loop.run { [body] in body.value.alertToken } ?? nil
    }

    private func attach() async throws -> String {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<String, any Error>) in
            let isRunning = body.loop.execute { [body] in
                body.value.switchOn { continuation.resume(with: $0.mapError { $0 }) }
            }
            if !isRunning { continuation.resume(throwing: Failure(description: "the phone's loop has stopped")) }
        }
    }

    /// Lets something go wrong with pushes to this phone alone. On the phone's loop.
    /// - Returns: false, and `completion` is not called, when the phone cannot be reached by pushes anyway.
    public func injectPushFault(_ order: PushFaultOrder, completion: @escaping (_ isTaken: Bool) -> Void) -> Bool {
        body.value.inject(order, completion: completion)
    }

    /// What the user does with the phone, or the network with its connection. On the phone's loop.
    /// - Parameter completion: called when it holds, or when the push simulator does not take it.
    /// - Returns: false, and `completion` is not called, when the phone cannot be reached by pushes anyway.
    public func move(to state: PhoneLink.PhoneState, completion: @escaping (_ isTaken: Bool) -> Void) -> Bool {
        body.value.move(to: state, completion: completion)
    }

    /// Breaks the link to the push simulator, as a phone does that is switched off. The app is gone with it.
    public func switchOff() async {
        _ = await body.loop.run { [body] in body.value.switchOff() }
        softphone.abandon()
    }
}
