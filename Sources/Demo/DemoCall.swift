import CallCore
import CallServer
import CallVocabulary
import EventLoop
import Logging
import PhoneSimulator
import PushSimulator
import SimulatorEndpoints
import SoftphoneKit
import SoftphoneSession
import StoreInterface

/// A complete call in one process: a server, a push simulator, a caller and a sleeping iPhone.
///
/// A push wakes the iPhone. It reports the push, rings, answers and connects; then the caller hangs up. The report is
/// read from the store.
public final class DemoCall: Sendable {
    public struct Configuration: Sendable {
        /// The folder of the store, the secrets and the simulator's certificates.
        public var folder: String
        public var ringing = Duration.milliseconds(600)
        public var talking = Duration.milliseconds(600)
        /// The longest wait for each step.
        public var limit = Duration.seconds(15)
        /// The server's port; 0 lets the system choose.
        public var port: UInt16 = 0
        /// The app on the callee's phone, which requests the payload profile of that name.
        public var app = PhoneApp.reveille

        public init(folder: String) { self.folder = folder }
    }

    /// A step that did not happen in time.
    public struct Stalled: Error, CustomStringConvertible, Sendable {
        public let step: String
        public var description: String { "the demo timed out before this step: \(step)" }
    }

    public let server: CallServer
    public let simulator: PushSimulator
    private let configuration: Configuration
    private let caller: Softphone
    private let callee: WakeablePhone
    private let progress: DemoProgress

    /// Starts all parts; the callee registers its push token and sleeps.
    public static func start(_ configuration: Configuration, log: Logger) async throws -> DemoCall {
        let simulatorFolder = configuration.folder + "/push-sim"
        let simulator = try PushSimulator(
            configuration: PushSimulatorConfiguration(
                folder: simulatorFolder, productionPort: 0, sandboxPort: 0, logger: log))
        try await simulator.start()
        do {
            return try await start(configuration, simulator, simulatorFolder, log)
        } catch {
            await simulator.stop()
            throw error
        }
    }

    private static func start(
        _ configuration: Configuration, _ simulator: PushSimulator, _ simulatorFolder: String, _ log: Logger
    ) async throws -> DemoCall {
        // Force-unwrap: the literal is a numeric address.
        var serverConfiguration = ServerConfiguration(
            address: SocketAddress(host: "127.0.0.1", port: configuration.port)!,
            data: DataFolder(path: configuration.folder))
        serverConfiguration.push = try .simulator(folder: simulatorFolder)
        let server = try await CallServer.start(serverConfiguration, log: log)
        do {
            return try await DemoCall(configuration, server, simulator, simulatorFolder)
        } catch {
            await server.stop()
            throw error
        }
    }

    private init(
        _ configuration: Configuration, _ server: CallServer, _ simulator: PushSimulator, _ simulatorFolder: String
    ) async throws {
        self.configuration = configuration
        self.server = server
        self.simulator = simulator
        let progress = DemoProgress()
        self.progress = progress
        let url = "ws://\(server.address)"
        let runtime = try SoftphoneRuntime()
        let alice = try await Self.softphone(url, server, "alice", "Alice", .desktop)
        caller = try Softphone(configuration: alice, runtime: runtime) { _, event in progress.caller(event) }
        let bob = try await Self.softphone(url, server, "bob", "Bob", .ios)
        var phone = WakeablePhone.Configuration(
            softphone: bob, simulatorFolder: simulatorFolder, name: "Bob's iPhone")
        phone.app = configuration.app
        phone.profile = configuration.app.rawValue
        callee = try WakeablePhone(configuration: phone, runtime: runtime) { _, event in progress.callee(event) }
        try await callee.setUp()
        try await caller.connect()
    }

    private static func softphone(
        _ url: String, _ server: CallServer, _ handle: String, _ name: String, _ platform: Platform
    ) async throws -> Softphone.Configuration {
        // Force-unwrap: all callers pass literals that are handles.
        let token = try await server.mintToken(user: Handle(handle)!, lifetime: .seconds(3600), name: name)
        return Softphone.Configuration(
            url: url, token: token,
            device: DeviceDescription(id: .random(), platform: platform, app: "demo", name: name))
    }

    /// Places the call and waits for its end.
    public func run() async throws -> DemoReport {
        // Force-unwrap: the literal is a handle.
        let call = try await caller.call(.user(Handle("bob")!), sdp: .text("v=0\r\n"))
        try await reach(.ringing, "the callee's phone rings")
        try await Task.sleep(for: configuration.ringing)
        try await callee.softphone.answer(call, sdp: .text("v=0\r\n"))
        try await reach(.answered, "the caller hears of the answer")
        try await caller.connected(call)
        try await callee.softphone.connected(call)
        try await reach(.connected, "both sides have media")
        try await Task.sleep(for: configuration.talking)
        try await caller.hangup(call)
        try await reach(.ended, "both sides hear of the end")
        try await reach(.asleep, "the callee's phone sleeps again")
        return try await report(on: call)
    }

    private func reach(_ milestone: DemoProgress.Milestone, _ step: String) async throws {
        guard await progress.reached(milestone, within: configuration.limit) else { throw Stalled(step: step) }
    }

    private func report(on call: CallID) async throws -> DemoReport {
        let (stored, audit) = try await DataFolder(path: configuration.folder).withQueries { queries in
            (try await queries.call(call), try await queries.audit())
        }
        guard let stored else { throw Stalled(step: "the call is in the store") }
        return DemoReport(
            call: stored.call,
            timeline: CallTimeline(
                call: stored.call, legs: stored.legs, pushes: stored.pushes, absences: stored.absences),
            audit: audit, phones: await simulator.snapshot())
    }

    public func stop() async {
        await caller.disconnect()
        await callee.switchOff()
        await server.stop()
        await simulator.stop()
    }
}
