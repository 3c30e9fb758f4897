import CallServer
import CallVocabulary
import EventLoop
import Logging
import PhoneSimulator
import PushSimulator
import SimulatorEndpoints
import SoftphoneKit
import SoftphoneSession

/// A server, a push simulator and bob's sleeping iPhone, in one process, for a call from the softphone's web page.
///
/// A call wakes the iPhone. It rings, and declines after ``Configuration/ringing``, because it has no audio.
public final class WebDemo: Sendable {
    public struct Configuration: Sendable {
        /// The folder of the store, the secrets and the simulator's certificates.
        public var folder: String
        /// The server's port; 0 lets the system choose.
        public var port = ServerConfiguration.standardPort
        public var ringing = Duration.seconds(8)

        public init(folder: String) { self.folder = folder }
    }

    public let server: CallServer
    /// The address of the softphone's page, which calls bob.
    public var phonePage: String {
        // Force-unwrap: `start` lets users sign in by name.
        "\(server.signInPage!)&user=alice&call=bob"
    }
    /// The address of the board, with its token.
    public var boardPage: String {
        // Force-unwrap: `start` sets the listener.
        "http://\(server.adminAddress!)/board/#token=\(boardToken)"
    }
    private let boardToken: String
    private let simulator: PushSimulator
    private let phone: WakeablePhone

    /// Starts all parts; the phone registers its push token and sleeps.
    /// - Parameter onStep: called on any thread with each step of the phone, in words.
    public static func start(
        _ configuration: Configuration, log: Logger, onStep: @escaping @Sendable (String) -> Void
    ) async throws -> WebDemo {
        let simulatorFolder = configuration.folder + "/push-sim"
        let simulator = try PushSimulator(
            configuration: PushSimulatorConfiguration(
                folder: simulatorFolder, productionPort: 0, sandboxPort: 0, logger: log))
        try await simulator.start()
        do {
            var settings = ServerConfiguration(
                // Force-unwrap: the literal is a numeric address.
                address: SocketAddress(host: "127.0.0.1", port: configuration.port)!,
                data: DataFolder(path: configuration.folder))
            settings.push = try .simulator(folder: simulatorFolder)
            settings.signsInByName = true
            let boardToken = "\(SessionID.random())"
            settings.admin = AdminListenerConfiguration(
                // Force-unwrap: the literal is a numeric address.
                address: SocketAddress(host: "127.0.0.1", port: 0)!, token: boardToken)
            let server = try await CallServer.start(settings, log: log)
            do {
                let phone = try await sleepingPhone(configuration, server, simulatorFolder, onStep)
                return WebDemo(server, boardToken, simulator, phone)
            } catch {
                await server.stop()
                throw error
            }
        } catch {
            await simulator.stop()
            throw error
        }
    }

    private init(_ server: CallServer, _ boardToken: String, _ simulator: PushSimulator, _ phone: WakeablePhone) {
        self.server = server
        self.boardToken = boardToken
        self.simulator = simulator
        self.phone = phone
    }

    private static func sleepingPhone(
        _ configuration: Configuration, _ server: CallServer, _ simulatorFolder: String,
        _ onStep: @escaping @Sendable (String) -> Void
    ) async throws -> WakeablePhone {
        // Force-unwrap: the literal is a handle.
        let token = try await server.mintToken(user: Handle("bob")!, lifetime: .seconds(24 * 3600), name: "Bob")
        let softphone = Softphone.Configuration(
            url: "ws://\(server.address)", token: token,
            device: DeviceDescription(id: .random(), platform: .ios, app: "demo", name: "Bob's iPhone"))
        let phone = try WakeablePhone(
            configuration: WakeablePhone.Configuration(
                softphone: softphone, simulatorFolder: simulatorFolder, name: "Bob's iPhone")
        ) { phone, event in
            if let step = words(for: event) { onStep(step) }
            guard case .app(.incoming(let call, _)) = event else { return }
            Task {
                try await Task.sleep(for: configuration.ringing)
                // The caller may have hung up.
                try? await phone.softphone.decline(call.id)
            }
        }
        try await phone.setUp()
        return phone
    }

    private static func words(for event: WakeablePhone.Event) -> String? {
        switch event {
        case .pushed: "a push arrives at Bob's iPhone"
        case .reportedToSystem(let push): "the app tells iOS of the call from \(push.from)"
        case .reportedToServer(_, nil): "the app tells the server that it has"
        case .app(.incoming): "Bob's iPhone rings"
        case .app(.ended(let call)): "the call is over: \(call.reason?.rawValue ?? "without a reason")"
        case .asleep: "Bob's iPhone sleeps"
        case .killed: "iOS kills the app: it did not report a push"
        case .failed(let reason), .unreachable(let reason): reason
        case .woken, .notified, .reportedToServer, .workerSent, .app: nil
        }
    }

    public func stop() async {
        await phone.switchOff()
        await server.stop()
        await simulator.stop()
    }
}
