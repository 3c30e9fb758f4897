import EventJournal
import EventLoop
import Glibc
import LibWebSockets
import TestCleanup
import Testing
import WebSocketServer

@Suite("Handshakes", .cleanup)
struct HandshakeTests {
    private let server: TestServer

    init() async throws { server = try await TestServer.start() }

    @Test(
        "a request that cannot become a WebSocket here is told why",
        arguments: [
            ("/v1/signal", "other.v9", "400 ", "reveille.v1"), ("/v1/signal", nil, "400 ", "reveille.v1"),
            ("/v1/signal", "-", "400 ", "reveille.v1"), ("/elsewhere", "reveille.v1", "404 ", "/v1/signal"),
        ])
    func refused(path: String, subprotocol: String?, status: String, hint: String) async throws {
        let client = try RawClient(port: server.address.port)
        let head = try await client.handshake(path: path, subprotocol: subprotocol)
        #expect(head.hasPrefix("HTTP/1.1 \(status)"))
        #expect(String(decoding: try await client.readToEnd(), as: UTF8.self).contains(hint))
        await server.stop()
        #expect(server.server.statistics.shards[0].handshakesRefused == 1)
        #expect(server.server.statistics.shards[0].opened == 0)
        #expect(server.journal.entries.isEmpty)
    }

    @Test("our client reports a refused subprotocol as a failure, with a word of why")
    func clientRefused() async throws {
        #expect(try await !TestClient.failure(of: server.url, subprotocol: "other.v9").isEmpty)
    }

    @Test("our client reports a port where nobody listens, and can be closed while it connects")
    func nobodyListens() async throws {
        let url = WebSocketURL(isSecure: false, host: "127.0.0.1", port: try freePort(), path: "/v1/signal")
        let client = try await TestClient()
        let journal = Journal<ClientEvent>()
        await client.connect(to: url, journal: journal)
        try await journal.wait(for: "a failure") { if case .failed = $0.first { true } else { false } }
        let closed = Journal<ClientEvent>()
        await client.connect(1, to: url, journal: closed)
        client.close(1)
        try await closed.wait(for: "a failure") { if case .failed = $0.first { true } else { false } }
        await client.stop()
        #expect(journal.entries.count == 1)
        #expect(closed.entries.count == 1)
    }

    @Test("a port in use is an error with EADDRINUSE, and leaves nothing running")
    func portInUse() async throws {
        let error = await #expect(throws: SystemError.self) {
            _ = try await TestServer.start { $0.address = server.address }
        }
        #expect(error?.errno == EADDRINUSE)
    }

    @Test("connections above the bound are closed at once and counted")
    func tooMany() async throws {
        let server = try await TestServer.start { $0.maxConnections = 1 }
        let first = try await server.connect()
        let second = try RawClient(port: server.address.port)
        #expect(try await second.readToEnd().isEmpty)
        #expect(server.server.statistics.refused == 1)
        withExtendedLifetime(first) {}
        await server.stop()
        #expect(server.server.statistics.shards[0].opened == 1)
    }

    @Test("garbage instead of HTTP, or a handshake cut short, ends that connection and no other")
    func garbage() async throws {
        let good = try await server.connect()
        for garbage in ["\u{0}\u{1}\u{2}\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET\r\n\r\n"] {
            let client = try RawClient(port: server.address.port)
            try await client.write(garbage)
            client.endWriting()
            _ = try await client.readToEnd()
        }
        do {
            let client = try RawClient(port: server.address.port)
            try await client.write("GET /v1/signal HTTP/1.1\r\nUpgrade: webso")
        }
        try await good.sendFrame(opcode: 1, Array("still here".utf8))
        #expect(frames(in: try await good.read()).first?.payload == Array("still here".utf8))
    }

}
