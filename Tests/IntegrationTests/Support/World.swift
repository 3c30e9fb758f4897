import CallCore
import CallServer
import CallStore
import CallVocabulary
import Demo
import EventLoop
import Foundation
import Logging
import PhoneSimulator
import PostgresStore
import PushSimulator
import SimulatorEndpoints
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import StoreTesting
import Synchronization
import TestCleanup
import Testing

/// The world of the running test, created by its suite's trait ``WorldTrait``.
var world: World {
    guard let world = World.current else { preconditionFailure("this suite lacks the trait .world") }
    return world
}

/// Gives each test case its own ``World``, and audits its store at the end.
struct WorldTrait: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await World.run { world in
            // For a run of all suites on the other kind of store, by hand.
            let kind = ProcessInfo.processInfo.environment["REVEILLE_TEST_STORE"].flatMap(WorldStore.init)
            try await world.use(kind ?? .sqlite)
            try await World.$current.withValue(world) { try await function() }
            try world.expectBalancedLedger()
        }
    }
}

extension Trait where Self == WorldTrait {
    static var world: Self { Self() }
}

/// A data folder with its servers, push simulator and phones, all of which end with the test.
final class World: Sendable {
    @TaskLocal fileprivate static var current: World?

    let folder: String
    private let runtime: SoftphoneRuntime
    private let database = Mutex<PostgresAddress?>(nil)

    private init() throws {
        folder = NSTemporaryDirectory() + "reveille-\(UUID().uuidString)"
        runtime = try SoftphoneRuntime()
    }

    static func run(_ body: (World) async throws -> Void) async throws {
        try await Cleanup.run {
            let world = try World()
            atEnd { try? FileManager.default.removeItem(atPath: world.folder) }
            try await body(world)
        }
    }

    static let log: Logger = {
        var log = Logger(label: "test", factory: { StreamLogHandler.standardError(label: $0) })
        log.logLevel = .critical
        return log
    }()

    // MARK: Servers

    var simulatorFolder: String { folder + "/push-sim" }

    func startSimulator(
        _ configure: (inout PushSimulatorConfiguration) -> Void = { _ in }
    ) async throws -> PushSimulator {
        // No other test gets the production port while the simulator is stopped.
        var configuration = PushSimulatorConfiguration(
            folder: simulatorFolder, productionPort: try freePort(), sandboxPort: 0, fcmPort: 0, logger: Self.log)
        configuration.webPushPort = 0
        configure(&configuration)
        let simulator = try PushSimulator(configuration: configuration)
        try await simulator.start()
        atEnd { await simulator.stop() }
        return simulator
    }

    /// A server in this process. It pushes to the simulator if one runs.
    func startServer(
        clocks: ClockSources = .system, _ configure: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws -> CallServer {
        // The literal is a numeric address.
        var configuration = ServerConfiguration(
            address: SocketAddress(host: "127.0.0.1", port: 0)!, data: DataFolder(path: folder))
        if FileManager.default.fileExists(atPath: simulatorFolder) {
            configuration.push = try .simulator(folder: simulatorFolder)
        }
        // The literal is a numeric address.
        configuration.metrics = MetricsListenerConfiguration(address: SocketAddress(host: "127.0.0.1", port: 0)!)
        // Tests call a phone more often than the default limits permit.
        configuration.limits.pushesPerDevice = Self.pushes
        configuration.limits.pushingCallsPerPair = Self.pushes
        configuration.limits.pushingCallsPerCaller = Self.pushes
        configuration.limits.pushesPerCaller = Self.pushes
        configuration.limits.storedBytesPerUser = 1 << 30
        configuration.database = database.withLock { $0 }
        configure(&configuration)
        let server = try await CallServer.start(configuration, clocks: clocks, log: Self.log)
        atEnd { await server.stop() }
        return server
    }

    /// The pushes permitted to a phone in a test.
    private static let pushes = 100_000

    /// A push simulator, and a server in this process that pushes to it.
    func startPushing(
        _ configure: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws -> (simulator: PushSimulator, server: CallServer) {
        let simulator = try await startSimulator()
        return (simulator, try await startServer(configure))
    }

    /// A server in its own process.
    /// - Parameter port: nil for a port that no other test gets while the server is stopped.
    func serve(port: UInt16? = nil, _ arguments: String...) async throws -> (program: Program, address: String) {
        let port = try port ?? freePort()
        let limits = ["PUSHES_PER_DEVICE", "PUSHING_CALLS_PER_PAIR", "PUSHING_CALLS_PER_CALLER"]
        let environment = Dictionary(uniqueKeysWithValues: limits.map { ("REVEILLE_LIMITS_\($0)", "\(Self.pushes)") })
        let program = try start(
            Program.reveille, ["serve", "--data", folder, "--port", "\(port)"] + arguments,
            environment: environment.merging(storeEnvironment) { $1 })
        let address = try await program.errors.first("the server listens") { line -> String? in
            guard line.contains(#""message":"listening""#), let key = line.range(of: #""address":""#) else {
                return nil
            }
            return String(line[key.upperBound...].prefix { $0 != "\"" })
        }
        return (program, address)
    }

    static func port(of address: String) throws -> UInt16 {
        guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw InVain(what: "the port of \(address)")
        }
        return port
    }

    /// Writes records to the store, before a server opens it.
    func seed(_ records: [StoreRecord]) async throws {
        try DataFolder(path: folder).prepare()
        if let address = database.withLock({ $0 }) {
            let store = try PostgresStore.open(address, name: "a test")
            try store.commit(records)
            return store.close()
        }
        let committer = try GroupCommitter(store: CallStore.open(folder: folder))
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let isTaken = committer.commit(batch: records) { result in
                if case .success = result {
                    continuation.resume(returning: true)
                } else {
                    continuation.resume(returning: false)
                }
            }
            if !isTaken { continuation.resume(returning: false) }
        }
        await committer.close()
        guard outcome else { throw InVain(what: "the store takes rows") }
    }

    func reader() throws -> WorldReader {
        if let address = database.withLock({ $0 }) { return WorldReader(try PostgresReader.open(address)) }
        return WorldReader(try StoreReader.open(folder: folder))
    }

    /// Has the servers and commands of this test use another kind of store. Call it first.
    func use(_ store: WorldStore) async throws {
        guard store == .postgreSQL else { return }
        use(try await PostgresServer.freshAddress())
    }

    /// Has the servers and commands of this test use this realm. Call it first.
    func use(_ address: PostgresAddress) { database.withLock { $0 = address } }

    /// The database, if there is one, for `reveille`.
    var storeEnvironment: [String: String] {
        guard let address = database.withLock({ $0 }) else { return [:] }
        return ["REVEILLE_STORE": address.uri, "REVEILLE_REALM": address.realm]
    }

    fileprivate func expectBalancedLedger() throws {
        if database.withLock({ $0 }) != nil { return #expect(try reader().audit().violations == []) }
        guard FileManager.default.fileExists(atPath: folder + "/reveille.sqlite3") else { return }
        #expect(try reader().audit().violations == [])
    }

    /// Waits for a push in the ledger, of `call` or of any call, that meets `condition`.
    @discardableResult
    func push(
        _ what: String, of call: CallID? = nil, where condition: (PushRecord) -> Bool
    ) async throws -> PushRecord {
        try await eventually("the push \(what)") { try reader().pushes(PushFilter(call: call)).first(where: condition) }
    }

    /// Starts a program, which is killed at the end of the test.
    func start(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws -> Program {
        let program = try Program(path, arguments, environment: environment)
        atEnd { await program.abandon() }
        return program
    }

    /// Starts `reveille` on the data folder, with the words of `line` as its arguments.
    func start(_ line: String) throws -> Program {
        try start(Program.reveille, arguments(line), environment: storeEnvironment)
    }

    /// Runs `reveille` on the data folder until its exit, with the words of `line` as its arguments.
    func reveille(_ line: String) async throws -> Program.Result {
        try await Program.run(Program.reveille, arguments(line), environment: storeEnvironment)
    }

    /// The output of `reveille`, which must exit with 0.
    @discardableResult
    func output(_ line: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let result = try await reveille(line)
        #expect(result.ending == .exit(0), "\(line): \(result.errors)", sourceLocation: sourceLocation)
        return result.output
    }

    func json(_ line: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSONObject {
        try JSONObject(await output(line + " --output json", sourceLocation: sourceLocation))
    }

    private func arguments(_ line: String) -> [String] {
        line.split(separator: " ").map(String.init) + ["--data", folder]
    }

    func token(_ user: String, lifetime: Duration = .seconds(600), name: String? = nil) async throws -> String {
        try DataFolder(path: folder).prepare()
        let authority = try await TokenAuthority(folder: DataFolder(path: folder))
        return try await authority.mint(user: Handle(stringLiteral: user), lifetime: lifetime, name: name)
    }

    // MARK: Phones

    /// An unconnected phone for `address`.
    func phone(
        _ user: String, at address: some CustomStringConvertible, push: [PushToken]? = nil,
        runtime: SoftphoneRuntime? = nil, _ configure: (inout Softphone.Configuration) -> Void = { _ in }
    ) async throws -> Phone {
        var configuration = try await softphone(user, "\(address)", .desktop)
        configuration.session.push = push
        configure(&configuration)
        let events = Journal<SoftphoneEvent>()
        let softphone = try Softphone(configuration: configuration, runtime: runtime ?? self.runtime) { _, event in
            events.add(event)
        }
        atEnd { softphone.abandon() }
        return Phone(softphone: softphone, events: events)
    }

    func onlinePhone(
        _ user: String, at address: some CustomStringConvertible, push: [PushToken]? = nil,
        _ configure: (inout Softphone.Configuration) -> Void = { _ in }
    ) async throws -> Phone {
        let phone = try await phone(user, at: address, push: push, configure)
        try await phone.softphone.connect()
        return phone
    }

    /// A phone that has registered its push tokens and disconnected.
    func awayPhone(
        _ user: String, at address: some CustomStringConvertible, push: [PushToken]? = nil,
        _ configure: (inout Softphone.Configuration) -> Void = { _ in }
    ) async throws -> Phone {
        let phone = try await onlinePhone(user, at: address, push: push, configure)
        await phone.softphone.disconnect()
        return phone
    }

    /// alice and bob, online, in a call from her to him with media.
    func liveCall(
        at address: some CustomStringConvertible
    ) async throws -> (alice: Phone, bob: Phone, call: CallID) {
        let alice = try await phone("alice", at: address)
        let bob = try await phone("bob", at: address)
        return (alice, bob, try await alice.connects(to: bob))
    }

    /// An iPhone of the simulator that has registered its push token and sleeps.
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

    /// The system side of an iPhone on `simulator`.
    func handset(
        on simulator: PushSimulator, _ environment: PushEnvironment = .production
    ) async throws -> Handset {
        try await handset(voipToken(on: simulator, environment))
    }

    /// A VoIP push token of a phone that is not attached to `simulator`.
    func voipToken(
        on simulator: PushSimulator, _ environment: PushEnvironment = .production
    ) async throws -> PushToken {
        guard let token = await simulator.registerPhone(topic: "org.reveille.phone.voip", environment: environment)
        else { throw InVain(what: "a token of the push simulator") }
        return .voip(token, environment)
    }

    /// The system side of a phone, for a token that the simulator issued.
    func handset(_ token: PushToken) async throws -> Handset {
        let handset = try await Handset(token: token, simulatorFolder: simulatorFolder, loop: runtime.loop)
        atEnd { await handset.switchOff() }
        return handset
    }

    /// A separate network to `server`.
    func wire(to server: some CustomStringConvertible) throws -> Wire {
        let wire = try Wire(to: server)
        atEnd { wire.close() }
        return wire
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

/// A phone of a test, with any journal of its app's events.
protocol TestPhone: Sendable {
    var softphone: Softphone { get }

    /// The first event of the app, past or future, for which `pick` returns a value.
    func event<Value: Sendable>(
        _ what: String, _ pick: @escaping @Sendable (SoftphoneEvent) -> Value?
    ) async throws -> Value
}

extension TestPhone {
    func state(_ state: CallState, of call: CallID) async throws -> PhoneCall {
        try await event("\(state) of the call") { $0.call(call, in: state) }
    }

    func ended(_ call: CallID) async throws -> PhoneCall { try await state(.ended, of: call) }

    func incoming() async throws -> PhoneCall {
        try await event("a call comes in") { event in
            if case .incoming(let call, _) = event { call } else { nil }
        }
    }

    /// Waits until the app shows this call.
    @discardableResult
    func rings(_ call: CallID) async throws -> PhoneCall {
        try await event("\(call) comes in") { event in
            if case .incoming(let seen, _) = event, seen.id == call { seen } else { nil }
        }
    }

    /// Hangs up.
    /// - Returns: the reason of the end that this phone gets.
    @discardableResult
    func hangUp(_ call: CallID) async throws -> EndReason? { try await hangUp(call, seenBy: self) }

    /// Hangs up.
    /// - Returns: the reason of the end that `other` gets.
    @discardableResult
    func hangUp(_ call: CallID, seenBy other: some TestPhone) async throws -> EndReason? {
        try await softphone.hangup(call)
        return try await other.ended(call).reason
    }

    /// `other` shows the call and answers; then media flows on both sides.
    func isAnswered(by other: some TestPhone, _ call: CallID) async throws {
        try await other.rings(call)
        try await other.softphone.answer(call)
        try await talks(with: other, in: call)
    }

    /// Waits for the answer of `other`; then media flows on both sides.
    func talks(with other: some TestPhone, in call: CallID) async throws {
        _ = try await state(.answered, of: call)
        try await softphone.connected(call)
        try await other.softphone.connected(call)
        _ = try await state(.connected, of: call)
        _ = try await other.state(.connected, of: call)
    }
}

struct Phone: TestPhone {
    let softphone: Softphone
    let events: Journal<SoftphoneEvent>

    /// The `host:port` it connects to.
    var address: Substring { softphone.configuration.url.dropFirst("ws://".count) }

    func event<Value: Sendable>(
        _ what: String, _ pick: @escaping @Sendable (SoftphoneEvent) -> Value?
    ) async throws -> Value {
        try await events.first(what, pick)
    }

    /// The number of calls it has shown.
    var timesRung: Int { events.entries.count { if case .incoming = $0 { true } else { false } } }

    /// The caller's session description, from whichever event carries it.
    func offer(of call: CallID) async throws -> RawJSON {
        try await events.first("the offer") { event in
            switch event {
            case .incoming(let seen, _), .offer(let seen), .state(let seen): seen.id == call ? seen.sdp : nil
            case .ended, .merged, .candidates, .update, .peer, .latePush, .connection, .draining: nil
            }
        }
    }
}

struct IPhone: TestPhone {
    let phone: WakeablePhone
    let token: String
    let events: Journal<WakeablePhone.Event>

    var softphone: Softphone { phone.softphone }

    func event<Value: Sendable>(
        _ what: String, _ pick: @escaping @Sendable (SoftphoneEvent) -> Value?
    ) async throws -> Value {
        try await events.first(what) { $0.app.flatMap(pick) }
    }

    func woken() async throws -> CallPush {
        try await events.first("a push wakes the phone") { event in
            if case .woken(let push) = event { push } else { nil }
        }
    }

    /// Waits until it sleeps after its last push: it slept for the first time when it was set up.
    func asleep() async throws {
        let woken = events.entries.lastIndex { if case .woken = $0 { true } else { false } } ?? 0
        try await events.first("the phone sleeps again", from: woken) { if case .asleep = $0 { true } else { nil } }
    }
}

extension SoftphoneEvent {
    /// The call, if this event reports that `call` is in `state`.
    func call(_ id: CallID, in state: CallState) -> PhoneCall? {
        switch self {
        case .state(let call), .ended(let call): call.id == id && call.state == state ? call : nil
        case .incoming, .offer, .merged, .candidates, .update, .peer, .latePush, .connection, .draining: nil
        }
    }

    var isDown: Bool {
        if case .connection(.down) = self { true } else { false }
    }
}

extension Handle: ExpressibleByStringLiteral {
    /// Traps for literals that are not handles.
    public init(stringLiteral text: String) { self.init(text)! }
}

extension SoftphoneEvent {
    /// The server's data of an opened session.
    var opened: SessionOpened? {
        switch self {
        case .connection(.up(let opened)), .connection(.resumed(let opened)): opened
        case .connection, .incoming, .offer, .state, .ended, .merged, .candidates, .update, .peer, .latePush, .draining:
            nil
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
