import ChildProcess
import EventJournal
import EventLoop
import Foundation
import LibWebSockets
import TestCertificates
import TestCleanup
import Testing
import WebSocketServer

@Suite("A listener with a token", .cleanup)
struct BearerTokenTests {
    private static let secret = "correct-horse-battery"

    private func start() async throws -> TestServer {
        try await TestServer.start { $0.bearerToken = BearerToken(Self.secret) }
    }

    @Test("lets in who shows it, as a WebSocket and by HTTP")
    func shown() async throws {
        let server = try await start()
        let client = try await TestClient()
        let journal = Journal<ClientEvent>()
        await client.connect(to: server.url, authorization: "Bearer \(Self.secret)", journal: journal)
        try await journal.wait(for: .opened)
        client.send("hello")
        try await journal.wait(for: .received("hello"))
        let output = try await ChildProcess.run(
            "/usr/bin/curl",
            [
                "-s", "-S", "-m", "15", "-H", "Authorization: bearer \(Self.secret)",
                "http://127.0.0.1:\(server.address.port)/healthz",
            ]
        ).output
        #expect(output == "fine\n")
    }

    @Test("lets in a web page that shows it as a subprotocol, and no other subprotocol")
    func subprotocol() async throws {
        let server = try await start()
        let encoded = Data(Self.secret.utf8).base64EncodedString().replacing("=", with: "")
        for (shown, status) in [
            (encoded, "101"), (String(encoded.dropLast()), "401"), (encoded + "A", "401"), (Self.secret, "401"),
            ("", "401"),
        ] {
            let client = try RawClient(port: server.address.port)
            let answer = try await client.handshake(more: "Sec-WebSocket-Protocol: bearer.\(shown)\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(shown)")
            // RFC 6455, 4.2.2: the answer names one of the offered subprotocols; this one must not be the secret.
            #expect(!answer.contains("bearer."))
        }
    }

    @Test("answers public paths without it")
    func publicPaths() async throws {
        let server = try await TestServer.start {
            $0.bearerToken = BearerToken(Self.secret)
            $0.isPublic = { $0 == "/healthz" }
        }
        func status(_ path: String) async throws -> String {
            try await ChildProcess.run(
                "/usr/bin/curl",
                [
                    "-s", "-m", "15", "-o", "/dev/null", "-w", "%{http_code}",
                    "http://127.0.0.1:\(server.address.port)\(path)",
                ]
            ).output
        }
        #expect(try await status("/healthz") == "200")
        #expect(try await status("/other") == "401")
    }

    @Test(
        "refuses everybody else with 401 and JSON, and its handler hears nothing of them",
        arguments: [
            nil, "", "Bearer", "Bearer ", secret, "Basic \(secret)", "Bearer  \(secret)", "Bearer \(secret)x",
            "Bearer \(secret) x", "Bearer \(secret.dropLast())", "Bearer \(secret.uppercased())",
            "Bearer \(secret), Bearer \(secret)", "Bearer \(secret)\u{e9}",
            "Bearer \(String(repeating: "x", count: 4000))",
        ])
    func refused(authorization: String?) async throws {
        let server = try await start()
        let header = authorization.map { "Authorization: \($0)\r\n" } ?? ""
        for upgrade in [true, false] {
            let client = try RawClient(port: server.address.port)
            var answer: String
            if upgrade {
                answer = try await client.handshake(more: header)
                answer += String(decoding: try await client.readToEnd(), as: UTF8.self)
            } else {
                try await client.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(header)\r\n")
                answer = String(decoding: try await client.readToEnd(), as: UTF8.self)
            }
            #expect(!answer.contains(" 101 ") && !answer.contains("fine"))
            #expect(answer.hasPrefix("HTTP/1.1 401 Unauthorized\r\n"), "\(answer)")
            #expect(answer.contains("\r\nContent-Type: application/json\r\n"))
            #expect(answer.contains("\r\nWWW-Authenticate: Bearer\r\n"))
            let body = answer.components(separatedBy: "\r\n\r\n").last ?? ""
            let json = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: [String: String]]
            #expect(json?["error"]?["code"] == "unauthenticated")
        }
        #expect(server.server.statistics.shards[0].opened == 0)
        await server.stop()
        #expect(server.journal.entries.isEmpty)
    }

    @Test("is not moved by headers that are too long, come twice or never end")
    func malformed() async throws {
        let server = try await start()
        let right = "Authorization: Bearer \(Self.secret)\r\n"
        let heads = [
            right + "X-Filler: \(String(repeating: "f", count: 40_000))\r\n",
            "Authorization: Bearer \(String(repeating: "x", count: 40_000))\r\n",
            String(repeating: right, count: 2), right + "Authorization: Bearer no\r\n",
        ]
        for head in heads {
            let client = try RawClient(port: server.address.port)
            #expect(try await !client.handshake(more: head).contains(" 101 "))
        }
        let endless = try RawClient(port: server.address.port)
        try await endless.write("GET /v1/signal HTTP/1.1\r\n\(right)")
        endless.endWriting()
        #expect(try await endless.readToEnd().isEmpty)
        // One who knows how is still served.
        let client = try RawClient(port: server.address.port)
        #expect(try await client.handshake(more: right).hasPrefix("HTTP/1.1 101 "))
        await server.stop()
        #expect(server.server.statistics.shards[0].opened == 1)
    }

    @Test("tells our client in words that it was refused")
    func ownClient() async throws {
        let server = try await start()
        let client = try await TestClient()
        for authorization in [nil, "Bearer wrong-wrong-wrong-wrong"] {
            let journal = Journal<ClientEvent>()
            await client.connect(to: server.url, authorization: authorization, journal: journal)
            try await journal.wait(for: .refused)
            #expect(journal.entries == [.refused])
        }
    }

    @Test("asks for another one after a replacement, and closes the connections of a token that is gone")
    func replaced() async throws {
        let (reading, other) = (try #require(BearerToken("for-dashboards-only")), "another-long-secret")
        let server = try await TestServer.start {
            $0.bearerToken = BearerToken(Self.secret)
            $0.readingToken = reading
        }
        let client = try await TestClient()
        let journals = (0..<4).map { _ in Journal<ClientEvent>() }
        for (index, token) in [Self.secret, "for-dashboards-only"].enumerated() {
            await client.connect(index, to: server.url, authorization: "Bearer \(token)", journal: journals[index])
            try await journals[index].wait(for: .opened)
        }
        // The same tokens again.
        await server.server.replaceBearerToken(with: try #require(BearerToken(Self.secret)), reading: reading)
        client.send("still here", on: 0)
        try await journals[0].wait(for: .received("still here"))
        await server.server.replaceBearerToken(with: try #require(BearerToken(other)), reading: reading)
        try await journals[0].wait(for: .closed(3500, "another token is needed"))
        await client.connect(2, to: server.url, authorization: "Bearer \(Self.secret)", journal: journals[2])
        try await journals[2].wait(for: .refused)
        await client.connect(3, to: server.url, authorization: "Bearer \(other)", journal: journals[3])
        try await journals[3].wait(for: .opened)
        client.send("still here", on: 1)
        try await journals[1].wait(for: .received("still here"))
        await server.server.replaceBearerToken(with: try #require(BearerToken(other)), reading: nil)
        try await journals[1].wait(for: .closed(3500, "another token is needed"))
        client.send("still here", on: 3)
        try await journals[3].wait(for: .received("still here"))
    }

    @Test("takes no token that a header does not carry, or that is short")
    func unfit() {
        for text in ["", "fifteen-letters", "sixteen letters!", "sixteen-letters\u{e9}é", "sixteen-letters\r\n"] {
            #expect(BearerToken(text) == nil, "\(text)")
        }
        #expect(BearerToken("sixteen-letters.") != nil)
    }

    @Test("and another on the same loop serve one handler, with connections told apart by their numbers")
    func sharedLoop() async throws {
        let first = try await TestServer.start { $0.soleLoop = "shared" }
        var configuration = WebSocketServer.Configuration(address: SocketAddress(host: "127.0.0.1", port: 0)!)
        configuration.firstSerial = 1 << 32
        let (journal, lives) = (Journal<HandlerEvent>(), LifeCount())
        let second = WebSocketServer(configuration: configuration, loop: first.server.shardLoops[0]) { _, loop in
            EchoHandler(journal: journal, lives: lives, loop: loop)
        }
        let address = try await second.start()
        let client = try await TestClient()
        let events = Journal<ClientEvent>()
        let url = WebSocketURL(isSecure: false, host: "127.0.0.1", port: address.port, path: "/v1/signal")
        await client.connect(to: url, journal: events)
        try await journal.wait(for: .opened(1 << 32))
        await second.stop(closeCode: 3000, reason: "", grace: .milliseconds(300))
        try await events.wait(for: .closed(3000, ""))
        // The other one's loop goes on.
        let again = Journal<ClientEvent>()
        await client.connect(1, to: first.url, journal: again)
        try await first.journal.wait(for: .opened(1))
    }
}
