import EventJournal
import EventLoop
import Foundation
import Glibc
import LibWebSockets
import TestCleanup
import Testing
import WebSocketServer

@Suite("Who is at the other end of a connection, and who ended it", .cleanup)
struct PeerTests {
    /// What the server takes for the address of a client that sends these header lines.
    private func address(_ server: TestServer, _ headers: String) async throws -> String {
        let client = try RawClient(port: server.address.port)
        #expect(try await client.handshake(more: headers).hasPrefix("HTTP/1.1 101"))
        return try await client.shownAddress()
    }

    /// Trusts this machine as a proxy.
    private static func trusted(_ configuration: inout WebSocketServer.Configuration) {
        configuration.proxies.addresses = [AddressRange("127.0.0.1")!]
    }

    @Test(
        "a trusted proxy is believed in the last entry of X-Forwarded-For, and in nothing that is no address",
        arguments: [
            ("X-Forwarded-For: 203.0.113.9\r\n", "203.0.113.9"),
            ("x-forwarded-for: 10.0.0.1, 203.0.113.9\r\n", "203.0.113.9"),
            ("X-Forwarded-For: 2001:db8::7\r\n", "2001:db8::7"),
            ("X-Forwarded-For: ::ffff:203.0.113.9\r\n", "203.0.113.9"),
            ("X-Forwarded-For: [2001:db8::7]\r\n", "2001:db8::7"),
            ("X-Forwarded-For: 203.0.113.9:51234\r\n", "203.0.113.9:51234"),
            ("X-Forwarded-For: [2001:db8::9]:443\r\n", "[2001:db8::9]:443"),
        ])
    func forwarded(_ headers: String, _ expected: String) async throws {
        let server = try await TestServer.start(Self.trusted)
        #expect(try await address(server, headers) == expected)
    }

    @Test(
        "without a proxy's word the address is the peer's own; that is told, and a word that is no address",
        arguments: [
            ("", "unforwarded"), ("X-Forwarded-For:\r\n", "unforwarded"),
            ("Forwarded: for=203.0.113.9\r\n", "unforwarded"), ("X-Forwarded-For: unknown\r\n", "unknown"),
            ("X-Forwarded-For: \u{1B}[31m\r\n", "\u{1B}[31m"),
            ("X-Forwarded-For: 203.0.113.9, _x\r\n", " _x"),
            ("X-Forwarded-For: 203.0.113.9:65536\r\n", "203.0.113.9:65536"),
        ])
    func own(_ headers: String, _ words: String) async throws {
        let told = Journal<String>()
        let server = try await TestServer.start { configuration in
            Self.trusted(&configuration)
            configuration.onPressure = { told.append($0.cause == .unreadable ? $0.detail ?? "" : $0.cause.rawValue) }
        }
        #expect(try await address(server, headers).hasPrefix("127.0.0.1:"))
        #expect(told.entries == [words])
        // A proxy's own check of the server's health has no client.
        let check = try await TestServer.start { configuration in
            Self.trusted(&configuration)
            configuration.onPressure = { told.append($0.cause.rawValue) }
        }
        let client = try RawClient(port: check.address.port)
        try await client.write("GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        _ = try await client.readToEnd()
        #expect(told.entries == [words])
    }

    @Test("who is no trusted proxy cannot name another address")
    func untrusted() async throws {
        let server = try await TestServer.start()
        #expect(try await address(server, "X-Forwarded-For: 203.0.113.9\r\n").hasPrefix("127.0.0.1:"))
    }

    @Test("a program on a Unix socket is known by its user and its process")
    func process() async throws {
        let path = NSTemporaryDirectory() + "peer-\(UUID().uuidString.prefix(8)).sock"
        let unix = try SocketAddress(path: path)
        let server = try await TestServer.start { $0.address = unix }
        let (client, journal) = try await TestClient.opened(to: server.url, unixSocket: server.address)
        client.send("who am I")
        try await journal.wait(for: .received("uid \(getuid()), pid \(getpid())"))
    }

    @Test("addresses of one subscriber are taken together: without the port, and of IPv6 the first 64 bits")
    func networks() throws {
        func network(_ text: String) throws -> PeerAddress { try #require(PeerAddress(numeric: text)).network }
        #expect(try network("2001:db8::7") == network("2001:db8::8"))
        #expect(try network("2001:db8::7") != network("2001:db8:0:1::7"))
        #expect(try network("192.0.2.1") != network("192.0.2.2"))
        let local = ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"]
        let remote = ["128.0.0.1", "192.0.2.1", "::2", "1::1", "::ffff:192.0.2.1"]
        for text in local { #expect(PeerAddress(numeric: text)?.isLocal == true, "\(text)") }
        for text in remote { #expect(PeerAddress(numeric: text)?.isLocal == false, "\(text)") }
    }

    @Test("a close tells who was first, with the code of its frame")
    func endings() async throws {
        let server = try await TestServer.start()
        let (client, journal) = try await TestClient.opened(to: server.url)
        client.close(code: 4711, reason: "enough")
        try await server.endings.wait(for: "the client's close") { $0 == [.client(code: 4711)] }
        try await journal.wait(for: "closed here too") { $0.contains { if case .closed = $0 { true } else { false } } }

        await client.connect(to: server.url, journal: journal)
        try await journal.wait(for: "open again") { $0.count { $0 == .opened } == 2 }
        client.send("close me")
        try await server.endings.wait(for: "the server's close") { $0.dropFirst() == [.server(code: 3503)] }

        let silent = try await server.connect()
        try await silent.sendFrame(opcode: 8, [])
        try await server.endings.wait(for: "a close without a code") { $0.dropFirst(2) == [.client(code: nil)] }

        let broken = try await server.connect()
        broken.endWriting()
        try await server.endings.wait(for: "the end of the connection") { $0.dropFirst(3) == [.network] }
    }

    @Test(
        "what is no request of HTTP/1.1 is told of, and counted",
        arguments: [
            ("\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}", "not_http"),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "not_http"), ("NONSENSE\r\n\r\n", "http_400"),
            ("GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: RequestHead.longest) + "\r\n\r\n", "http_431"),
        ])
    func foreign(bytes: String, reason: String) async throws {
        let server = try await TestServer.start(Self.trusted)
        let client = try RawClient(port: server.address.port)
        try await client.write(bytes)
        try await server.refusals.wait(for: "the refusal") { $0.map(\.reason) == [reason] }
        #expect(server.server.statistics.shards[0].handshakesRefused == 1)
    }

    @Test("a request for the path of WebSockets without an upgrade is told of, with what a proxy must do, and counted")
    func noUpgrade() async throws {
        let server = try await TestServer.start(Self.trusted)
        let client = try RawClient(port: server.address.port)
        try await client.write("GET /v1/signal HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        #expect(String(decoding: try await client.readToEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 426 "))
        try await server.refusals.wait(for: "the refusal") { $0.map(\.cause) == [.noUpgrade] }
        let refusal = try #require(server.refusals.entries.first)
        #expect(refusal.reason == "http_426" && refusal.detail?.contains("Upgrade and Connection") == true)
        #expect(server.server.statistics.shards[0].handshakesRefused == 1)
    }

    @Test("who is refused a WebSocket is told of with the address and the status")
    func refused() async throws {
        let server = try await TestServer.start(Self.trusted)
        let headers = "X-Forwarded-For: 203.0.113.9\r\n"
        let statuses = [
            try await RawClient(port: server.address.port).handshake(path: "/elsewhere", more: headers),
            try await RawClient(port: server.address.port).handshake(subprotocol: nil, more: headers),
        ].map { Int($0.split(separator: " ")[1]) }
        #expect(statuses == [404, 400])
        try await server.refusals.wait(for: "both") { $0.map(\.cause) == [.status(404), .status(400)] }
        #expect(server.refusals.entries.map { "\($0.peer)" } == ["203.0.113.9", "203.0.113.9"])
    }
}
