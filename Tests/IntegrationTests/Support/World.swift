import CallServer
import CallStore
import CallVocabulary
import Demo
import EventLoop
import Foundation
import Logging
import PhoneSimulator
import PushSimulator
import SoftphoneKit
import Synchronization

/// A data folder of its own, with what runs on it: servers, a push simulator, phones. All of it ends with the test.
final class World: Sendable {
    let folder: String
    private let runtime: SoftphoneRuntime
    private let closers = Mutex<[@Sendable () async -> Void]>([])

    private init() throws {
        folder = NSTemporaryDirectory() + "reveille-\(UUID().uuidString)"
        runtime = try SoftphoneRuntime()
    }

    static func run(_ body: (World) async throws -> Void) async throws {
        let world = try World()
        do {
            try await body(world)
        } catch {
            await world.close()
            throw error
        }
        await world.close()
    }

    private func close() async {
        for closer in closers.withLock({ $0 }).reversed() { await closer() }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Has `closer` called at the end, the last one first.
    func atEnd(_ closer: @escaping @Sendable () async -> Void) {
        closers.withLock { $0.append(closer) }
    }

    private static let log: Logger = {
        var log = Logger(label: "test", factory: { StreamLogHandler.standardError(label: $0) })
        log.logLevel = .critical
        return log
    }()

    // MARK: Servers

    var simulatorFolder: String { folder + "/push-sim" }

    func startSimulator(
        _ configure: (inout PushSimulatorConfiguration) -> Void = { _ in }
    ) async throws -> PushSimulator {
        var configuration = PushSimulatorConfiguration(
            folder: simulatorFolder, productionPort: 0, sandboxPort: 0, logger: Self.log)
        configure(&configuration)
        let simulator = try PushSimulator(configuration: configuration)
        try await simulator.start()
        atEnd { await simulator.stop() }
        return simulator
    }

    /// A server in this process. It pushes to the simulator if one has been started.
    func startServer(_ configure: (inout ServerConfiguration) -> Void = { _ in }) async throws -> CallServer {
        // The literal is a numeric address.
        var configuration = ServerConfiguration(
            address: SocketAddress(host: "127.0.0.1", port: 0)!, data: DataFolder(path: folder))
        if FileManager.default.fileExists(atPath: simulatorFolder) {
            configuration.push = try .simulator(folder: simulatorFolder)
        }
        configure(&configuration)
        let server = try await CallServer.start(configuration, log: Self.log)
        atEnd { await server.stop() }
        return server
    }

    /// A server of its own process.
    func serve(port: UInt16 = 0, _ arguments: String...) async throws -> (program: Program, address: String) {
        let program = try Program(
            Program.reveille, ["serve", "--data", folder, "--port", "\(port)"] + arguments)
        atEnd { await program.abandon() }
        let address = try await program.errors.first("the server listens") { line -> String? in
            guard line.hasSuffix("listening"), let key = line.range(of: "address=") else { return nil }
            return String(line[key.upperBound...].prefix { $0 != " " })
        }
        return (program, address)
    }

    func reader() throws -> StoreReader { try StoreReader.open(folder: folder) }

    func token(_ user: String, lifetime: Duration = .seconds(600), name: String? = nil) async throws -> String {
        try DataFolder(path: folder).prepare()
        let authority = try await TokenAuthority(folder: DataFolder(path: folder))
        return try await authority.mint(user: Handle(stringLiteral: user), lifetime: lifetime, name: name)
    }

    // MARK: Phones

    /// A phone on `address`, not connected yet.
    func phone(
        _ user: String, at address: some CustomStringConvertible, push: [PushToken]? = nil,
        _ configure: (inout Softphone.Configuration) -> Void = { _ in }
    ) async throws -> Phone {
        var configuration = try await softphone(user, "\(address)", .desktop)
        configuration.session.push = push
        configure(&configuration)
        let events = Journal<SoftphoneEvent>()
        let softphone = try Softphone(configuration: configuration, runtime: runtime) { _, event in events.add(event) }
        atEnd { softphone.abandon() }
        return Phone(softphone: softphone, events: events)
    }

    /// An iPhone on the simulator that has registered its push token and sleeps.
    func sleepingPhone(
        _ user: String, at address: some CustomStringConvertible,
        _ configure: (inout WakeablePhone.Configuration) -> Void = { _ in }
    ) async throws -> IPhone {
        var configuration = WakeablePhone.Configuration(
            softphone: try await softphone(user, "\(address)", .ios), simulatorFolder: simulatorFolder, name: user)
        configure(&configuration)
        let events = Journal<WakeablePhone.Event>()
        let phone = try WakeablePhone(configuration: configuration, runtime: runtime) { _, event in events.add(event) }
        atEnd { await phone.switchOff() }
        let token = try await phone.setUp()
        return IPhone(phone: phone, token: token, events: events)
    }

    private func softphone(_ user: String, _ address: String, _ platform: Platform) async throws
        -> Softphone.Configuration
    {
        var configuration = Softphone.Configuration(
            url: "ws://\(address)", token: try await token(user),
            device: DeviceDescription(id: .random(), platform: platform, app: "test", name: nil))
        configuration.session.backoffBase = .milliseconds(50)
        configuration.session.backoffCeiling = .milliseconds(250)
        return configuration
    }
}

struct Phone: Sendable {
    let softphone: Softphone
    let events: Journal<SoftphoneEvent>

    func state(_ state: CallState, of call: CallID) async throws -> PhoneCall {
        try await events.first("\(state) of the call") { $0.call(call, in: state) }
    }

    func incoming() async throws -> PhoneCall {
        try await events.first("a call comes in") { event in
            if case .incoming(let call, _) = event { call } else { nil }
        }
    }

    func ended(_ call: CallID) async throws -> PhoneCall {
        try await events.first("the call ends") { $0.call(call, in: .ended) }
    }
}

struct IPhone: Sendable {
    let phone: WakeablePhone
    /// By which a push finds it.
    let token: String
    let events: Journal<WakeablePhone.Event>

    var softphone: Softphone { phone.softphone }

    func woken() async throws -> CallPush {
        try await events.first("a push wakes the phone") { event in
            if case .woken(let push) = event { push } else { nil }
        }
    }

    func state(_ state: CallState, of call: CallID) async throws -> PhoneCall {
        try await events.first("\(state) of the call") { event in
            if case .app(let event) = event { event.call(call, in: state) } else { nil }
        }
    }
}

extension SoftphoneEvent {
    /// The call, if this tells that `call` has come to `state`.
    func call(_ id: CallID, in state: CallState) -> PhoneCall? {
        switch self {
        case .state(let call), .ended(let call): call.id == id && call.state == state ? call : nil
        case .incoming, .offer, .candidates, .update, .latePush, .connection, .draining: nil
        }
    }

    var isDown: Bool {
        if case .connection(.down) = self { true } else { false }
    }
}

extension Handle: ExpressibleByStringLiteral {
    /// For literals that are handles.
    public init(stringLiteral text: String) { self.init(text)! }
}

extension SoftphoneEvent {
    /// What the server said when it opened a session.
    var opened: SessionOpened? {
        switch self {
        case .connection(.up(let opened)), .connection(.resumed(let opened)): opened
        case .connection, .incoming, .offer, .state, .ended, .candidates, .update, .latePush, .draining: nil
        }
    }
}

extension WakeablePhone.Event {
    var app: SoftphoneEvent? {
        if case .app(let event) = self { event } else { nil }
    }
}

extension Instant {
    static var now: Instant { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }
}
