import EventJournal
import EventLoop
import TestCleanup
import Testing
import WebSocketServer

/// Closes that the server begins, byte by byte.
@Suite("The close of a connection", .cleanup)
struct CloseTests {
    private static let close = [UInt8(3503 >> 8), UInt8(3503 & 0xFF)] + Array("as you wish".utf8)

    /// Less than the server waits for an answer, which is 5 s.
    private static let patience = Duration.seconds(4)

    /// How long it takes to the end of the connection, before which nothing may come.
    private static func untilEnd(_ client: RawClient) async throws -> Duration {
        let (isEmpty, time) = try await client.onItsThread { socket in
            let began = ContinuousClock.now
            let isEmpty = try socket.read().isEmpty
            return (isEmpty, ContinuousClock.now - began)
        }
        #expect(isEmpty)
        return time
    }

    /// Reads up to the close frame, and that too.
    private func readToClose(_ client: RawClient) async throws -> [(opcode: UInt8, payload: [UInt8])] {
        var bytes: [UInt8] = []
        while frames(in: bytes).last?.opcode != 8 { bytes += try await client.readMore() }
        return frames(in: bytes)
    }

    @Test(
        "what is said before it comes first, it comes once, and its answer ends the connection",
        arguments: [false, true])
    func answered(_ waits: Bool) async throws {
        let server = try await TestServer.start { $0.maxQueuedBytes = 100_000_000 }
        let client = try await server.connect()
        let order = waits ? "make me wait, say bye and close me" : "say bye and close me"
        try await client.sendFrame(opcode: 1, Array(order.utf8))
        let received = try await readToClose(client)
        #expect(received.count == 2 || waits)
        #expect(received.suffix(2).map(\.opcode) == [1, 8])
        #expect(received.suffix(2).map(\.payload) == [Array("bye".utf8), Self.close])
        // What the client had to say when it did not know yet comes too late.
        try await client.sendFrame(opcode: 1, Array("too late".utf8))
        try await client.sendFrame(opcode: 8, Self.close)
        #expect(try await Self.untilEnd(client) < Self.patience)
        try await server.journal.wait(for: .closed(1))
        #expect(!server.journal.entries.contains(.received(1, "too late")))
        #expect(server.server.statistics.shards[0].messagesOut == UInt64(received.count - 1))
        #expect(server.server.statistics.shards[0].connections == 0)
    }

    @Test("a client that does not answer it is cut")
    func unanswered() async throws {
        let server = try await TestServer.start()
        let client = try await server.connect()
        let began = ContinuousClock.now
        try await client.sendFrame(opcode: 1, Array("close me".utf8))
        #expect(try await readToClose(client).map(\.payload) == [Self.close])
        _ = try await Self.untilEnd(client)
        #expect(ContinuousClock.now - began >= Self.patience)
        try await server.journal.wait(for: .closed(1))
    }

    @Test("a client that breaks the protocol instead of answering it gets no second one")
    func broken() async throws {
        let server = try await TestServer.start()
        let client = try await server.connect()
        try await client.sendFrame(opcode: 1, Array("close me".utf8))
        _ = try await readToClose(client)
        // There is no frame of this kind (RFC 6455, 5.2).
        try await client.sendFrame(opcode: 3, [1])
        #expect(try await Self.untilEnd(client) < Self.patience)
        try await server.journal.wait(for: .closed(1))
    }

    @Test("a client that goes without answering it is no longer there")
    func gone() async throws {
        let server = try await TestServer.start()
        let client = try await server.connect()
        try await client.sendFrame(opcode: 1, Array("close me".utf8))
        _ = try await readToClose(client)
        client.endWriting()
        #expect(try await Self.untilEnd(client) < Self.patience)
        try await server.journal.wait(for: .closed(1))
        #expect(server.server.statistics.shards[0].connections == 0)
    }

    /// How a client ends its half for which bytes wait.
    enum Fault: CaseIterable {
        case ends, endsBehindMessage, endsAtOnce, isFlooded, isClosed

        var order: String {
            switch self {
            case .ends, .endsBehindMessage, .endsAtOnce: "make me wait"
            case .isFlooded: "flood me"
            case .isClosed: "make me wait, say bye and close me"
            }
        }
    }

    @Test(
        "a client that ends its half while bytes wait for it is cut before the loop has turned for long",
        arguments: Fault.allCases)
    func endsWhileBlocked(_ fault: Fault) async throws {
        let server = try await TestServer.start { $0.maxQueuedBytes = fault == .isFlooded ? 200_000 : 100_000_000 }
        func turns() -> UInt64 { server.loops[0].statistics.turns.reduce(0, +) }
        // One that waits as well, and stays.
        let other = try await server.connect()
        try await other.sendFrame(opcode: 1, Array("make me wait".utf8))
        try await server.journal.wait(for: .received(1, "make me wait"))
        let client = try await server.connect()
        let before = turns()
        try await client.sendFrame(opcode: 1, Array(fault.order.utf8))
        if fault != .endsAtOnce { try await server.journal.wait(for: .received(2, fault.order)) }
        if fault == .endsBehindMessage { try await client.sendFrame(opcode: 1, Array("hello".utf8)) }
        client.endWriting()
        try await server.journal.wait(for: .closed(2))
        // libwebsockets itself ends it after 5 s of turns without a pause, which are tens of thousands.
        #expect(turns() - before < 5000)
        #expect(server.server.statistics.shards[0].connections == 1)
        #expect(!server.journal.entries.contains(.closed(1)))
    }
}
