import AdminProtocol
import CallCore
import CallStore
import CallVocabulary
import EventJournal
import EventLoop
import Foundation
import Glibc
import LibWebSockets
import LogCapture
import Logging
import OutgoingHTTP
import StoreInterface
import Synchronization
import TestCleanup
import Testing
import WebSocketServer
import WebhookClient

@testable import CallServer

/// The places of endpoints in the stored events, across starts, changes and restored stores. The address refuses
/// connections unless a test has a receiver.
@Suite("The places of webhook endpoints", .cleanup, .timeLimit(.minutes(5)))
struct WebhookServiceTests {
    private let folder: DataFolder
    private let state = State()

    private final class State: Sendable {
        let bytes = Mutex<[UInt8]?>(nil)
        let isFull = Mutex(false)

        func save(_ new: [UInt8]) throws {
            if isFull.withLock({ $0 }) { throw CocoaError(.fileWriteOutOfSpace) }
            bytes.withLock { $0 = new }
        }
    }

    init() throws { folder = try .temporary() }

    private func endpoint(
        _ name: String, kinds: Set<EventKind> = Set(EventKind.allCases), port: UInt16 = 1
    ) throws -> WebhookEndpoint {
        let address = try #require(WebAddress("http://127.0.0.1:\(port)/"))
        let secret = try #require(WebhookSecret(WebhookSecret.make()))
        return WebhookEndpoint(name: name, address: address, secrets: [secret], kinds: kinds)
    }

    private func service(_ log: Logger = .none) throws -> WebhookService {
        let clock = ServerClock()
        let queries = try SQLiteQueries.open(folder: folder.path, thread: "test")
        atEnd { await queries.close() }
        return try WebhookService(
            WebhookService.Environment(
                queries: queries, now: { clock.now() }, wall: { clock.wall($0) }, wallTime: { clock.wallTime() },
                load: { [state] in state.bytes.withLock { $0 } },
                save: { [state] in try state.save($0) }, userAgent: "test", log: log))
    }

    /// - Parameter members: of the endpoint `a`.
    private func setState(_ members: String) {
        state.bytes.withLock { $0 = Array("{\"endpoints\":{\"a\":{\(members)}}}".utf8) }
    }

    private func commit(_ count: Int) throws {
        let store = try CallStore.open(folder: folder.path)
        let device = DeviceRecord(
            key: DeviceKey(user: Handle("bob")!, device: DeviceID(high: 1, low: 1)), platform: .ios, app: nil,
            name: nil,
            tokens: [], seenAt: Instant(milliseconds: 1), unreportedStreak: 0, suspendedAt: nil)
        try store.commit(
            (0..<count).map { number in
                .event(
                    EventRecord(
                        id: .random(), at: Instant(milliseconds: Int64(number)), subject: .device(device, .suspended)))
            })
        store.close()
    }

    /// Stores an event of one call of each of `users`, who are handles. The calls have numbers from `first`.
    private func commit(callsBy users: [String], from first: Int = 0) throws {
        let store = try CallStore.open(folder: folder.path)
        try store.commit(
            users.enumerated().map { number, user -> StoreRecord in
                let call = CallRecord(
                    id: CallID(high: 1, low: UInt64(first + number)),
                    caller: Party(user: Handle(user)!, device: DeviceID(high: 1, low: 1)), callerName: nil,
                    to: .user(Handle("bob")!), video: false, inviteDigest: 1, state: .routing,
                    createdAt: Instant(milliseconds: 1), ringsUntil: Instant(milliseconds: 2))
                return .event(
                    EventRecord(
                        id: .random(), at: Instant(milliseconds: 1),
                        subject: .call(call, number: 1, .invited(custom: nil))))
            })
        store.close()
    }

    /// Refuses the events of users whose names begin with mallory until it is told to accept them.
    private final class Receiver: Sendable {
        /// The bodies of the events that were accepted.
        let taken = Journal<String>()
        let refusesMallory = Mutex(true)
        let refusal: Int

        init(refusal: Int = 400) { self.refusal = refusal }

        static func isOfMallory(_ body: String) -> Bool { body.contains(#""from":"mallory"#) }

        func takes(_ body: String) -> Bool {
            guard !Self.isOfMallory(body) || !refusesMallory.withLock({ $0 }) else { return false }
            taken.append(body)
            return true
        }
    }

    private final class ReceiverShard: ShardHandler {
        private let receiver: Receiver

        init(_ receiver: Receiver) { self.receiver = receiver }

        func connectionOpened(_ connection: WebSocketConnection) {}
        func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {}
        func connectionClosed(_ connection: WebSocketConnection) {}

        func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {
            let isTaken = receiver.takes(String(decoding: request.body, as: UTF8.self))
            responder.respond(.text("", status: isTaken ? 200 : receiver.refusal))
        }
    }

    /// The backlog of each endpoint.
    private func backlogs(_ service: WebhookService) async -> [String: Int] {
        Dictionary(uniqueKeysWithValues: await service.endpoints().map { ($0.name, $0.backlog) })
    }

    @Test("without a state nothing counts as delivered; a new endpoint beside others begins with the next event")
    func places() async throws {
        try commit(3)
        var service = try service()
        try await service.start([try endpoint("old")])
        #expect(await backlogs(service) == ["old": 3])
        try await service.reload([try endpoint("old"), try endpoint("new")])
        #expect(await backlogs(service) == ["old": 3, "new": 0])
        await service.stop()
        try commit(2)
        service = try self.service()
        try await service.start([try endpoint("old"), try endpoint("new"), try endpoint("newest")])
        #expect(await backlogs(service) == ["old": 5, "new": 2, "newest": 0])
        await service.stop()
    }

    @Test("a change whose new endpoint has no place on disk is refused, and nothing has changed")
    func refused() async throws {
        try commit(3)
        let service = try service()
        try await service.start([try endpoint("old")])
        state.isFull.withLock { $0 = true }
        await #expect(throws: CocoaError.self) { try await service.reload([try endpoint("new")]) }
        #expect(await backlogs(service) == ["old": 3])
        state.isFull.withLock { $0 = false }
        try await service.reload([try endpoint("new")])
        #expect(await backlogs(service) == ["new": 0])
        await service.stop()
    }

    @Test("an endpoint whose place is behind a restored store goes on with the next event")
    func restored() async throws {
        try commit(3)
        setState(#""cursor":77,"isPaused":false,"unsettled":[{"attempts":1,"due":1,"position":70}],"givenUp":4"#)
        let service = try service()
        try await service.start([try endpoint("a")])
        let status = try #require(await service.endpoints().first)
        #expect(status.backlog == 0 && status.givenUp == 4)
        await service.stop()
    }

    @Test(
        "a state that no server writes counts as none",
        arguments: [
            (2, "[{\"position\":1,\"attempts\":1,\"due\":1},{\"position\":1,\"attempts\":1,\"due\":1}]", "0"),
            (2, "[{\"position\":1,\"attempts\":-1,\"due\":1}]", "0"),
            (2, "[{\"position\":1,\"attempts\":9223372036854775807,\"due\":1}]", "0"),
            (2, "[{\"position\":1,\"attempts\":1,\"due\":9223372036854775807}]", "0"),
            (2, "[{\"position\":1,\"attempts\":1,\"due\":-9223372036854775808}]", "0"),
            (2, "[{\"position\":3,\"attempts\":1,\"due\":1}]", "0"),
            (2, "[{\"position\":-9223372036854775808,\"attempts\":1,\"due\":1}]", "0"),
            (.min, "[]", "0"), (2, "[]", "18446744073709551615"),
            (2, "[],\"behind\":[{\"position\":3,\"count\":1}]", "0"),
            (2, "[],\"behind\":[{\"position\":-1,\"count\":1}]", "0"),
            (2, "[],\"behind\":[{\"position\":0,\"count\":-1}]", "0"),
            (
                2,
                "[],\"behind\":[{\"user\":\"a\",\"position\":0,\"count\":9223372036854775807},"
                    + "{\"user\":\"b\",\"position\":0,\"count\":1}]", "0"
            ),
        ] as [(Int64, String, String)])
    func damaged(cursor: Int64, unsettled: String, givenUp: String) async throws {
        try commit(3)
        setState(#""cursor":\#(cursor),"isPaused":true,"unsettled":\#(unsettled),"givenUp":\#(givenUp)"#)
        let service = try service()
        try await service.start([try endpoint("a")])
        #expect(await backlogs(service) == ["a": 3])
        await service.stop()
        // What it has written is a state again.
        let next = try self.service()
        try await next.start([try endpoint("a")])
        #expect(await backlogs(next) == ["a": 3])
        await next.stop()
    }

    @Test("a state that is missing beside stored events has the same line as a damaged one; a new server has none")
    func missingState() async throws {
        func told(_ endpoints: [WebhookEndpoint]) async throws -> [String] {
            state.bytes.withLock { $0 = nil }
            let lines = LogLines()
            let service = try service(lines.logger())
            try await service.start(endpoints)
            await service.stop()
            return lines.take().filter { $0.hasPrefix("error ") }
        }
        try commit(0)
        #expect(try await told([try endpoint("a")]) == [])
        try commit(1)
        #expect(try await told([]) == [])
        let lines = try await told([try endpoint("a")])
        #expect(lines.count == 1 && lines.first?.contains("is missing; all stored events are sent again") == true)
    }

    @Test("a test message under way is answered when the service stops")
    func stoppedTest() async throws {
        try commit(0)
        let service = try service()
        // Takes a connection, and never answers.
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        defer { close(listener) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutableBytes(of: &name) {
            // A variable has an address.
            let raw = $0.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            return bind(listener, raw, length) == 0 && listen(listener, 1) == 0
                && getsockname(listener, raw, &length) == 0
        }
        try #require(isListening)
        let address = try #require(WebAddress("http://127.0.0.1:\(UInt16(bigEndian: name.sin_port))/"))
        let secret = try #require(WebhookSecret(WebhookSecret.make()))
        try await service.start([WebhookEndpoint(name: "a", address: address, secrets: [secret], kinds: [])])
        async let result = service.test("a")
        var accepted: Int32 = -1
        while accepted < 0 {
            accepted = accept(listener, nil, nil)
            await Task.yield()
        }
        defer { close(accepted) }
        await service.stop()
        guard case .failed? = await result else {
            Issue.record("the test message has another result")
            return
        }
    }

    @Test("events that retention has deleted are passed over")
    func deleted() async throws {
        try commit(4)
        setState(#""cursor":0,"isPaused":true,"unsettled":[],"givenUp":0"#)
        // An open store merges the change into its database, with page checksums.
        let store = try CallStore.open(folder: folder.path)
        try sqlite(folder.path + "/reveille.sqlite3", "DELETE FROM event")
        store.close()
        let service = try service()
        try await service.start([try endpoint("a")])
        #expect(await backlogs(service) == ["a": 4], "a paused endpoint reads nothing")
        #expect(await service.resume("a"))
        while await backlogs(service) != ["a": 0] { await Task.yield() }
        await service.stop()
    }

    @Test("a paused endpoint stays so after a restart; unknown names are refused")
    func paused() async throws {
        try commit(0)
        var service = try service()
        try await service.start([try endpoint("a")])
        #expect(await service.pause("a"))
        #expect(await service.pause("b") == false)
        #expect(await service.resume("b") == false)
        #expect(try await service.replay("b", since: Instant(milliseconds: 0)) == false)
        #expect(await service.test("b") == nil)
        guard case .failed? = await service.test("a") else {
            Issue.record("a test message was taken by nobody")
            return
        }
        await service.stop()
        service = try self.service()
        try await service.start([try endpoint("a")])
        #expect(await service.endpoints().first?.state == .paused)
        await service.stop()
    }

    @Test("events of one user that the receiver refuses hold up no other's, and none is lost, across a restart either")
    func refusedUser() async throws {
        let receiver = Receiver()
        let server = try WebSocketServer(configuration: WebSocketServer.Configuration(address: .anyPort)) { _, _ in
            ReceiverShard(receiver)
        }
        let port = try await server.start().port
        atEnd { await server.stop(closeCode: 3000, reason: "", grace: .milliseconds(100)) }
        try commit(callsBy: [String](repeating: "mallory", count: 1200) + ["alice"])
        var service = try service()
        try await service.start([try endpoint("a", port: port)])
        try await receiver.taken.wait(for: "the event of alice") { !$0.isEmpty }
        while await backlogs(service) != ["a": 1200] { await Task.yield() }
        #expect(await service.endpoints().first?.state == .active)
        await service.stop()
        service = try self.service()
        try await service.start([try endpoint("a", port: port)])
        #expect(await backlogs(service) == ["a": 1200])
        receiver.refusesMallory.withLock { $0 = false }
        #expect(await service.resume("a"))
        while await backlogs(service) != ["a": 0] { await Task.yield() }
        await service.stop()
        #expect(Set(receiver.taken.entries.filter(Receiver.isOfMallory)).count == 1200)
    }

    @Test("410 for events of three users disables an endpoint until one of another is taken, after a restart too")
    func goneForSome() async throws {
        let receiver = Receiver(refusal: 410)
        let server = try WebSocketServer(configuration: WebSocketServer.Configuration(address: .anyPort)) { _, _ in
            ReceiverShard(receiver)
        }
        let port = try await server.start().port
        atEnd { await server.stop(closeCode: 3000, reason: "", grace: .milliseconds(100)) }
        try commit(callsBy: ["mallory1", "mallory2", "mallory3"])
        var service = try service()
        try await service.start([try endpoint("a", port: port)])
        while await service.endpoints().first?.state != .disabled { await Task.yield() }
        await service.stop()
        try commit(callsBy: ["alice"], from: 3)
        service = try self.service()
        try await service.start([try endpoint("a", port: port)])
        try await receiver.taken.wait(for: "the event of alice") { !$0.isEmpty }
        while await service.endpoints().first?.state != .active { await Task.yield() }
        #expect(await backlogs(service) == ["a": 3])
        await service.stop()
    }

    private func sqlite(_ path: String, _ sql: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/sqlite3")
        process.arguments = [path, sql]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }
}
