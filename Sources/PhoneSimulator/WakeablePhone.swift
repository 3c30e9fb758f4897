import CallVocabulary
import EventLoop
import HTTP2
import PushSimulator
import SoftphoneKit
import Synchronization

/// A whole iPhone: the app is a ``SoftphoneKit/Softphone``, the system a ``PushSimulator/PhoneLink`` to the push simulator.
///
/// It does what an app on PushKit does: registers its device token with the server, goes to sleep, is launched by a push,
/// shows the call and says so to the system and to the server, connects, and sleeps again after the last call. A push
/// that it does not report has the system kill it, as on a real phone.
///
/// Any thread. Its parts live on the loop of the runtime.
public final class WakeablePhone: Sendable {
    public struct Configuration: Sendable {
        /// The app: server, user token, device.
        public var softphone: Softphone.Configuration
        /// The data folder of the push simulator.
        public var simulatorFolder: String
        public var environment = PushEnvironment.production
        /// For people who look at the simulator's state.
        public var name: String
        /// The token of an earlier run; nil asks for a new one.
        public var deviceToken: String?
        /// Whether the app keeps to the contract and reports its pushes.
        public var reportsPushes = true
        /// Goes offline after the last call, to be woken by the next.
        public var sleepsAfterCalls = true

        public init(softphone: Softphone.Configuration, simulatorFolder: String, name: String) {
            self.softphone = softphone
            self.simulatorFolder = simulatorFolder
            self.name = name
        }
    }

    public enum Event: Sendable {
        /// The system has launched the app for a push.
        case woken(CallPush)
        /// The system has been told that the call is shown.
        case reportedToSystem(CallPush)
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
        let manifest = try PushSimulatorManifest.load(folder: configuration.simulatorFolder)
        guard let endpoint = manifest.endpoint(configuration.environment.rawValue),
            let address = SocketAddress(host: endpoint.host, port: endpoint.port)
        else {
            throw Failure(
                description:
                    "\(configuration.simulatorFolder) names no \(configuration.environment.rawValue) push simulator")
        }
        let trust = TLSClientContext.Trust.certificateAuthority(
            file: configuration.simulatorFolder + "/" + manifest.caFile)
        try self.init(configuration, manifest.topic, address, TLSClientContext(trust: trust), runtime, onEvent)
    }

    private init(
        _ configuration: Configuration, _ topic: String, _ address: SocketAddress, _ tls: TLSClientContext,
        _ runtime: SoftphoneRuntime, _ onEvent: @escaping EventHandler
    ) throws {
        var softphoneConfiguration = configuration.softphone
        softphoneConfiguration.session.automaticReport = configuration.reportsPushes ? .reported : nil
        self.configuration = configuration
        let body = PhoneBody(
            configuration: configuration, topic: topic + ".voip", address: address, tls: tls, loop: runtime.loop)
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
        let push = await body.loop.run { [body] in body.value.pushToken(token) }
        guard let push else { throw Failure(description: "the phone's loop has stopped") }
        try await softphone.connect()
        try await softphone.updatePushTokens([push])
        // A call that rang already has come with the session: the phone sleeps after it.
        let hasCall = await body.loop.run { [body] in body.value.hasCall } ?? false
        if !hasCall { await softphone.disconnect() }
        return token
    }

    private func attach() async throws -> String {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<String, any Error>) in
            let isRunning = body.loop.execute { [body] in
                body.value.switchOn { continuation.resume(with: $0.mapError { $0 }) }
            }
            if !isRunning { continuation.resume(throwing: Failure(description: "the phone's loop has stopped")) }
        }
    }

    /// Breaks the link to the push simulator, as a phone does that is switched off. The app is gone with it.
    public func switchOff() async {
        _ = await body.loop.run { [body] in body.value.switchOff() }
        softphone.abandon()
    }
}
