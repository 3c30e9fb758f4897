import EventJournal
import EventLoop
import LibWebSockets
import TestCertificates
import TestCleanup
import Testing
import WebSocketServer

@Suite("Echo between our client and our server", .cleanup)
struct EchoTests {
    private let server: TestServer

    init() async throws { server = try await TestServer.start() }

    @Test("a message comes back, and both sides are told the end once")
    func echo() async throws {
        let (client, journal) = try await TestClient.opened(to: server.url)
        client.send("hello")
        try await journal.wait(for: .received("hello"))
        client.close(code: 1000, reason: "done")
        try await journal.wait(for: .closed(1000, "done"))
        try await server.journal.wait(for: .closed(1))
        await client.stop()
        await server.stop()
        #expect(server.journal.entries.count { $0 == .opened(1) } == 1)
        #expect(server.journal.entries.count { $0 == .closed(1) } == 1)
        #expect(journal.entries == [.opened, .received("hello"), .closed(1000, "done")])
        let statistics = server.server.statistics
        #expect(statistics.accepted == 1)
        #expect(statistics.shards[0].connections == 0)
        #expect(statistics.shards[0].messagesIn == 1)
        #expect(statistics.shards[0].messagesOut == 1)
        #expect(statistics.shards[0].bytesIn == 5)
    }

    @Test(
        "what several clients send in one turn comes whole and in order, also what the kernel does not take at once",
        .timeLimit(.minutes(5)), arguments: [false, true])
    func manyAtOnce(isSecure: Bool) async throws {
        let identity = try await TestIdentity()
        let server = try await TestServer.start {
            ($0.maxFrameBytes, $0.maxQueuedBytes) = (1 << 20, 64 << 20)
            if isSecure { $0.tls = identity.files }
        }
        let url =
            isSecure
            ? WebSocketURL(isSecure: true, host: "localhost", port: server.address.port, path: "/v1/signal")
            : server.url
        let client = try await TestClient(trust: identity.trust)
        let journals = (0..<3).map { _ in Journal<ClientEvent>() }
        for (number, journal) in journals.enumerated() {
            await client.connect(number, to: url, journal: journal)
            try await journal.wait(for: .opened)
        }
        // Short ones come back as they are, long ones are told by their length.
        let lengths = [0, 1, 100, 101, 126, 300_000] + (0..<1000).map { 5_000 + $0 } + [70_000, 99]
        let texts = lengths.map { String(repeating: Character(UnicodeScalar(UInt8(0x61 + $0 % 26))), count: $0) }
        client.send(texts, on: 0..<3)
        let expected = [.opened] + texts.map { ClientEvent.received($0.count > 100 ? "\($0.count) bytes" : $0) }
        for journal in journals {
            try await journal.wait(for: "all of them") { $0.count == expected.count }
            #expect(journal.entries == expected)
        }
    }

    @Test("what the handler takes for a message is in the time of its shard's loop")
    func busy() async throws {
        let loop = server.server.shardLoops[0]
        let (client, journal) = try await TestClient.opened(to: server.url)
        let before = loop.statistics.busy
        client.send("take your time")
        try await journal.wait(for: .received("take your time"))
        await client.stop()
        await server.stop()
        #expect(loop.statistics.busy - before >= .milliseconds(30))
    }

    @Test("the server's close code and reason reach the client")
    func serverCloses() async throws {
        let (client, journal) = try await TestClient.opened(to: server.url)
        client.send("close me")
        try await journal.wait(for: .closed(3503, "as you wish"))
    }

    @Test("what a client sends in the turn in which it ends is not lost", arguments: [false, true])
    func lastWords(_ isClosed: Bool) async throws {
        let client = try await TestClient.opened(to: server.url).client
        if isClosed {
            client.send("last words")
            client.close()
        } else {
            client.sendLast("last words")
        }
        try await server.journal.wait(for: .received(1, "last words"))
        try await server.journal.wait(for: .closed(1))
    }

    @Test("messages sent together come one by one, in one piece of the stream")
    func together() async throws {
        let client = try await server.connect()
        try await client.sendFrame(opcode: 1, Array("send me three".utf8))
        let received = frames(in: try await client.readMore())
        #expect(received.map(\.opcode) == [1, 1, 1])
        #expect(received.map(\.payload.count) == [3, 300, 5])
        #expect(received.last?.payload == Array("three".utf8))
        // Counted once they are sent, which the client may see before.
        await server.stop()
        let statistics = server.server.statistics.shards[0]
        #expect(statistics.messagesOut == 3)
        #expect(statistics.bytesOut == 308)
    }
}
