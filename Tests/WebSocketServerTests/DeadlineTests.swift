import Dispatch
import EventJournal
import EventLoop
import Glibc
import LibWebSockets
import TestCertificates
import TestCleanup
import Testing
import WebSocketServer

/// How long a connection may take to say what it wants.
@Suite("Deadlines of a connection", .cleanup, .timeLimit(.minutes(5)))
struct DeadlineTests {
    private static let timeout = Duration.milliseconds(300)

    /// What a slow client sends before it drips bytes.
    enum Start: String, CaseIterable {
        case nothing = ""
        case line = "GET /healthz HTTP/1.1\r\n"
        case head = "GET /healthz HTTP/1.1\r\nHost: h\r\nX-Slow: "
        case body = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 65000\r\n\r\n"
    }

    @Test("each byte of a slow request renews nothing", arguments: Start.allCases)
    func slow(_ start: Start) async throws {
        let server = try await TestServer.start { $0.requestTimeout = Self.timeout }
        let client = try RawClient(port: server.address.port)
        let time = try await client.drip(after: Array(start.rawValue.utf8), byte: 0x61)
        #expect(time < RawClient.patience, "\(time)")
        await server.stop()
        #expect(server.server.statistics.shards[0].unfinished == 1)
        #expect(server.server.statistics.shards[0].requests == 0)
    }

    @Test("nor does each byte of a handshake of TLS", arguments: [[], [0x16, 0x03, 0x01, 0x40, 0x00]] as [[UInt8]])
    func slowTLS(_ start: [UInt8]) async throws {
        let identity = try await TestIdentity()
        let server = try await TestServer.start {
            $0.requestTimeout = Self.timeout
            $0.tls = identity.files
        }
        let client = try RawClient(port: server.address.port)
        let time = try await client.drip(after: start, byte: 0x01)
        // libwebsockets ends a handshake by itself after 10 s.
        #expect(time < .seconds(8), "\(time)")
        await server.stop()
        #expect(server.server.statistics.shards[0].unfinished <= 1)
    }

    /// How a message does not come to its end.
    enum Half: CaseIterable {
        case header, payload, fragments

        var start: [UInt8] {
            switch self {
            case .header: [0x81]
            case .payload: [0x81, 0xFE, 0x40, 0x00, 0, 0, 0, 0]
            case .fragments: [0x01, 0x81, 0, 0, 0, 0, 0x61, 0x00, 0xFE, 0x40, 0x00, 0, 0, 0, 0]
            }
        }
    }

    @Test("nor does each byte of a message that has begun", arguments: Half.allCases)
    func slowMessage(_ half: Half) async throws {
        let server = try await TestServer.start { $0.requestTimeout = Self.timeout }
        let client = try await server.connect()
        // One goes on after the server's close frame, which it does not answer.
        let time = try await client.drip(
            after: half.start, byte: half == .header ? nil : 0x61, toClose: half != .payload)
        #expect(time < RawClient.patience, "\(time)")
        client.endWriting()
        try await server.journal.wait(for: .closed(1))
        await server.stop()
        #expect(server.server.statistics.shards[0].unfinished == 1)
    }

    @Test("long messages that follow one upon the other may take longer together")
    func longMessages() async throws {
        let timeout = Duration.milliseconds(700)
        let server = try await TestServer.start { $0.requestTimeout = timeout }
        let client = try await server.connect()
        // Each read of the server has the end of one message and the start of the next.
        var stream: [UInt8] = []
        for _ in 0..<20 { stream += [0x81, 0x8A, 0, 0, 0, 0] + [UInt8](repeating: 0x61, count: 10) }
        let took = try await client.onItsThread { [stream] socket in
            let began = ContinuousClock.now
            for start in stride(from: 0, to: stream.count, by: 8) {
                try socket.write(Array(stream[start..<min(stream.count, start + 8)]))
                // The sender's speed: a message takes 50 ms, all of them longer than the timeout.
                usleep(25_000)
            }
            return ContinuousClock.now - began
        }
        #expect(took > timeout)
        try await server.journal.wait(for: "all of them") { entries in
            entries.count { if case .received = $0 { true } else { false } } == 20
        }
        await server.stop()
        #expect(server.server.statistics.shards[0].unfinished == 0)
    }

    @Test(
        "a refusal that needs no body does not wait for it",
        arguments: [
            ("POST /v1/signal HTTP/1.1\r\nHost: h\r\nContent-Length: 65000\r\n\r\n", "426 "),
            ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n", "413 "),
            ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775807\r\n\r\n", "413 "),
            ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", "413 "),
            ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: -9223372036854775808\r\n\r\n", "400 "),
            ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: +5\r\n\r\n", "400 "),
            ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5 5\r\n\r\n", "400 "),
            ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1e400\r\n\r\n", "400 "),
            ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", "400 "),
            ("BREW /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 65000\r\n\r\n", "405 "),
            ("POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 65000\r\n\r\n", "403 "),
        ])
    func refusedEarly(_ request: String, _ status: String) async throws {
        let server = try await TestServer.start()
        let client = try RawClient(port: server.address.port)
        try await client.write(request)
        #expect(String(decoding: try await client.readToEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 \(status)"))
        // The client goes on with its body, which harms nobody.
        try? await client.write([UInt8](repeating: 0x61, count: 1000))
        await server.stop()
        #expect(server.server.statistics.shards[0].unfinished == 0)
    }

    @Test("a client that is asked for its body before it is refused anything sends it")
    func expects() async throws {
        let server = try await TestServer.start()
        let client = try RawClient(port: server.address.port)
        try await client.write(
            "POST /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(String(decoding: try await client.readMore(), as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
        try await client.write("hi")
        #expect(String(decoding: try await client.readToEnd(), as: UTF8.self).hasSuffix("\r\n\r\nhi"))
    }

    @Test("a client that answers no ping is offline at once; if it is there after all, it is told why")
    func noPong() async throws {
        let server = try await TestServer.start {
            $0.pingInterval = .milliseconds(50)
            $0.pingTimeout = .milliseconds(150)
        }
        let client = try await server.connect()
        let began = ContinuousClock.now
        try await server.journal.wait(for: .closed(1))
        // A close that waits for the client's answer takes 5 s more.
        #expect(ContinuousClock.now - began < .seconds(5))
        let close = try #require(frames(in: try await client.readToEnd()).last)
        #expect(close.opcode == 8 && close.payload.starts(with: [0x0B, 0xBA]))
        await server.stop()
        #expect(server.server.statistics.shards[0].pingTimeouts == 1)
    }

    @Test("pongs that came while the process stood still are read before anybody is judged")
    func stoodStill() async throws {
        let timeout = Duration.milliseconds(500)
        let server = try await TestServer.start {
            $0.pingInterval = .milliseconds(50)
            $0.pingTimeout = timeout
        }
        let client = try RawClient(port: server.address.port)
        let loop = server.loops[0]
        let timeouts = try await client.onItsThread { socket in
            _ = try socket.handshake()
            for _ in 0..<3 {
                let payload = try socket.readPayload(of: 9)
                // The loop's thread stands still for longer than the answer may take, which comes meanwhile.
                let hasBegun = DispatchSemaphore(value: 0)
                loop.execute {
                    hasBegun.signal()
                    usleep(UInt32((timeout + .milliseconds(200)) / .microseconds(1)))
                }
                hasBegun.wait()
                try socket.write(RawClient.frame(opcode: 10, payload))
            }
            try socket.write(RawClient.frame(opcode: 1, Array("still here".utf8)))
            // It comes back.
            _ = try socket.readPayload(of: 1)
            return server.server.statistics.shards[0].pingTimeouts
        }
        #expect(timeouts == 0)
        #expect(server.journal.entries.contains(.received(1, "still here")))
    }
}
