import ChildProcess
import EventJournal
import EventLoop
import Foundation
import LibWebSockets
import TestCertificates
import TestCleanup
import Testing

@testable import WebSocketServer

/// The addresses of clients behind a proxy that sends PROXY protocol headers.
@Suite("A listener behind a proxy", .cleanup, .timeLimit(.minutes(5)))
struct ProxyTests {
    private static let line = "PROXY TCP4 203.0.113.9 192.0.2.1 56789 443\r\n"

    private func start(
        proxy: String = "127.0.0.1", faults: Journal<HandshakeRefusal> = Journal(),
        _ adjust: (inout WebSocketServer.Configuration) -> Void = { _ in }
    ) async throws -> TestServer {
        let addresses = [try #require(AddressRange(proxy))]
        return try await TestServer.start {
            $0.proxies = TrustedProxies(addresses: addresses, sendHeaders: true)
            $0.onRefusal = { faults.append($0) }
            adjust(&$0)
        }
    }

    /// A client whose connection begins with `header`.
    private func client(_ server: TestServer, _ header: some Sequence<UInt8>) async throws -> RawClient {
        let client = try RawClient(port: server.address.port)
        try await client.write(Array(header))
        return client
    }

    @Test("a client has the address of its proxy's header, on a thread of its own and on the server's sole one")
    func address() async throws {
        for loop in [nil, "sole"] {
            let server = try await start { $0.soleLoop = loop }
            let client = try await client(server, Self.line.utf8)
            #expect(try await client.handshake().hasPrefix("HTTP/1.1 101"))
            #expect(try await client.shownAddress() == "203.0.113.9:56789")
        }
    }

    @Test("a header in many parts is put together, and the request in the same part as its end is read")
    func parts() async throws {
        let server = try await start()
        let request = "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        let client = try RawClient(port: server.address.port)
        // Each part is read before the next one is sent: the server reads in the turn after the answer of another client.
        for byte in Self.line.utf8.dropLast() {
            try await client.write([byte])
            _ = try await self.client(server, (Self.line + request).utf8).readToEnd()
        }
        try await client.write(Array("\n".utf8) + Array(request.utf8))
        #expect(String(decoding: try await client.readToEnd(), as: UTF8.self).hasSuffix("fine\n"))
        #expect(server.server.statistics.headersRefused == 0)
    }

    @Test(
        "a proxy's connection without a valid header is closed, and the log's line says what is wrong",
        arguments: [
            ("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", ProxyHeader.Fault.foreign), ("\u{16}\u{03}\u{01}", .foreign),
            ("PROXY TCP4 somewhere else 1 2\r\n", .line), ("PROXY TCP4 203.0.113.9", .ended),
        ])
    func faults(_ start: String, _ fault: ProxyHeader.Fault) async throws {
        let faults = Journal<HandshakeRefusal>()
        let server = try await self.start(faults: faults)
        let client = try await client(server, start.utf8)
        if fault == .ended { client.endWriting() }
        #expect(try await client.readToEnd().isEmpty)
        #expect(faults.entries.map(\.cause) == [.proxyHeader(fault)])
        #expect(
            faults.entries[0].detail == fault.rawValue && faults.entries[0].peer.description.hasPrefix("127.0.0.1:"))
        #expect(server.server.statistics.headersRefused == 1)
    }

    @Test("a header that does not come in time ends the connection; a connection without a byte is no fault")
    func deadlines() async throws {
        let faults = Journal<HandshakeRefusal>()
        let server = try await start(faults: faults) { $0.requestTimeout = .milliseconds(50) }
        #expect(try await client(server, "PROXY TCP4 ".utf8).readToEnd().isEmpty)
        #expect(faults.entries.map(\.cause) == [.proxyHeader(.late)])
        let check = try RawClient(port: server.address.port)
        check.endWriting()
        #expect(try await check.readToEnd().isEmpty)
        #expect(faults.entries.count == 1)
    }

    @Test("the oldest connection without its header gives way when too many wait")
    func crowd() async throws {
        let faults = Journal<HandshakeRefusal>()
        let server = try await start(faults: faults)
        let clients = try (0...ProxyHeaders.mostWaiting).map { _ in try RawClient(port: server.address.port) }
        #expect(try await clients[0].readToEnd().isEmpty)
        #expect(faults.entries.map(\.cause) == [.proxyHeader(.late)])
        try await clients[1].write(Self.line)
        #expect(try await clients[1].handshake().hasPrefix("HTTP/1.1 101"))
    }

    /// Version 2: the signature, the command, TCP over IPv4, and twelve bytes of addresses and ports.
    private static let block: [UInt8] =
        [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, 0x21, 0x11, 0x00, 0x0C]
        + [203, 0, 113, 9, 192, 0, 2, 1, 0xDD, 0xD5, 0x01, 0xBB]

    @Test("the header of a stranger is no TLS either, and is told of and counted", arguments: [1, 2])
    func strangerWithTLS(version: Int) async throws {
        let identity = try await TestIdentity()
        let server = try await start(proxy: "127.0.0.2") { $0.tls = identity.files }
        // The header has arrived when the shard takes the connection.
        let gate = DispatchSemaphore(value: 0)
        server.loops[0].execute { gate.wait() }
        let refused = try await client(server, version == 1 ? Array(Self.line.utf8) : Self.block)
        gate.signal()
        try await server.refusals.wait(for: "the refusal") { $0.map(\.cause) == [.strayProxyHeader] }
        #expect(server.server.statistics.shards[0].handshakesRefused == 1)
        withExtendedLifetime(refused) {}
    }

    @Test("the header of a stranger is no request, and is told of and counted", arguments: [1, 2])
    func stranger(version: Int) async throws {
        let faults = Journal<HandshakeRefusal>()
        let server = try await start(proxy: "127.0.0.2", faults: faults)
        let refused = try await client(server, version == 1 ? Array(Self.line.utf8) : Self.block)
        #expect(try await refused.handshake().hasPrefix("HTTP/1.1 400 "))
        try await server.refusals.wait(for: "the refusal") { $0.map(\.cause) == [.strayProxyHeader] }
        let refusal = try #require(server.refusals.entries.first)
        #expect(refusal.reason == "proxy_header" && refusal.detail?.contains("listen.proxy_protocol") == true)
        #expect(server.server.statistics.shards[0].handshakesRefused == 1)
        let plain = try RawClient(port: server.address.port)
        #expect(try await plain.handshake().hasPrefix("HTTP/1.1 101"))
        #expect(faults.entries.isEmpty)
    }

    @Test("clients are limited by their own addresses, told by a header or by X-Forwarded-For")
    func shares() async throws {
        for sendsHeaders in [true, false] {
            let server = try await start {
                $0.proxies.sendHeaders = sendsHeaders
                $0.maxConnectionsPerAddress = 2
                $0.refusalForm = { HTTPResponse(status: $0.status, contentType: "x/formed", headers: $0.headers) }
            }
            func handshake(_ client: RawClient, from address: String) async throws -> String {
                if sendsHeaders { try await client.write("PROXY TCP4 \(address) 192.0.2.1 1 443\r\n") }
                return try await client.handshake(more: sendsHeaders ? "" : "X-Forwarded-For: \(address)\r\n")
            }
            var clients = try (0..<4).map { _ in try RawClient(port: server.address.port) }
            #expect(try await handshake(clients[0], from: "203.0.113.9").hasPrefix("HTTP/1.1 101"))
            #expect(try await handshake(clients[1], from: "203.0.113.9").hasPrefix("HTTP/1.1 101"))
            let refusal = try await handshake(clients[2], from: "203.0.113.9")
            #expect(sendsHeaders ? refusal.isEmpty : refusal.hasPrefix("HTTP/1.1 429 "))
            #expect(sendsHeaders || refusal.contains("Retry-After: ") && refusal.contains("x/formed"))
            #expect(try await handshake(clients[3], from: "203.0.113.10").hasPrefix("HTTP/1.1 101"))
            #expect(server.server.statistics.refusedByShare == 1)
            clients.removeFirst()
            try await server.journal.wait(for: .closed(1))
            // The descriptor is released in the turn after the handler is told.
            _ = await server.loops[0].run {}
            let next = try RawClient(port: server.address.port)
            #expect(try await handshake(next, from: "203.0.113.9").hasPrefix("HTTP/1.1 101"))
        }
    }

    @Test("X-Forwarded-For counts when the header names another proxy, and not when it names a client")
    func chain() async throws {
        let server = try await start(proxy: "127.0.0.0/8")
        let forwarded = "X-Forwarded-For: 203.0.113.9\r\n"
        for (source, shown) in [("127.0.0.3", "203.0.113.9"), ("198.51.100.7", "198.51.100.7:1")] {
            let client = try await client(server, "PROXY TCP4 \(source) 192.0.2.1 1 443\r\n".utf8)
            #expect(try await client.handshake(more: forwarded).hasPrefix("HTTP/1.1 101"))
            #expect(try await client.shownAddress() == shown)
        }
    }

    @Test("a proxy on this machine that is not listed is told of, for requests and for WebSockets")
    func unlisted() async throws {
        let headers = ["X-Forwarded-For: 203.0.113.9\r\n", "Forwarded: for=203.0.113.9\r\n", "Via: 1.1 proxy\r\n"]
        for (isListed, count) in [(false, 2 * headers.count), (true, 0)] {
            let told = Journal<Int>()
            let here = try #require(AddressRange("127.0.0.1"))
            let server = try await TestServer.start {
                $0.proxies = TrustedProxies(addresses: isListed ? [here] : [])
                $0.onUnlistedProxy = { told.append(1) }
            }
            for header in [""] + headers {
                let client = try RawClient(port: server.address.port)
                #expect(try await client.handshake(more: header).hasPrefix("HTTP/1.1 101"))
                let other = try RawClient(port: server.address.port)
                try await other.write("GET /healthz HTTP/1.1\r\nHost: h\r\n\(header)Connection: close\r\n\r\n")
                _ = try await other.readToEnd()
            }
            #expect(told.entries.count == count)
        }
    }

    // MARK: HAProxy

    /// Starts HAProxy in front of `server`, which knows it as 127.0.0.9.
    /// - Returns: HAProxy's port.
    private func haproxy(
        before server: TestServer, mode: String = "tcp", options: String, more: String = ""
    ) async throws -> UInt16 {
        let port = try freePort()
        try await startHAProxy(
            """
            defaults
                mode \(mode)
                timeout connect 10s
                timeout client 10s
                timeout server 10s
            listen signal
                bind 127.0.0.1:\(port)
                \(more)
                server reveille \(server.address) source 127.0.0.9 \(options)

            """)
        return port
    }

    private func startHAProxy(_ configuration: String) async throws {
        let path = NSTemporaryDirectory() + "haproxy-\(UUID().uuidString.prefix(8)).cfg"
        try configuration.write(toFile: path, atomically: true, encoding: .utf8)
        let words = Journal<String>()
        let program = try ChildProcess.find("haproxy", package: "haproxy")
        let haproxy = try ChildProcess.start(
            program, ["-W", "-f", path], output: .pipe { words.append(String(decoding: $0, as: UTF8.self)) })
        atEnd {
            await haproxy.stop(atMost: .seconds(5))
            try? FileManager.default.removeItem(atPath: path)
        }
        try await words.wait(for: "HAProxy's start") { $0.joined().contains("Loading success.") }
    }

    /// The blocks for HAProxy of the article for operators.
    private static func blocks() throws -> [String] {
        let article = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/CallServer/CallServer.docc/Operations.md")
        return try String(contentsOf: article, encoding: .utf8).components(separatedBy: "```haproxy\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
    }

    @Test("the blocks for HAProxy of the article for operators pass a WebSocket on, and the client's address")
    func article() async throws {
        let blocks = try Self.blocks()
        #expect(blocks.map { $0.contains("mode http\n") } == [true, false])
        for block in blocks {
            let isHTTP = block.contains("mode http\n")
            let server = try await TestServer.start {
                $0.proxies = TrustedProxies(
                    addresses: [AddressRange("127.0.0.9")].compactMap(\.self), sendHeaders: !isHTTP)
            }
            let port = try freePort()
            try await startHAProxy(
                block.replacing(" ssl crt /etc/haproxy/reveille.pem alpn http/1.1", with: "")
                    .replacing("bind :443", with: "bind 127.0.0.1:\(port)")
                    // The test's server has no /homez.
                    .replacing("    option httpchk GET /homez\n", with: "")
                    .replacing("10.0.0.20:7350", with: "\(server.address) source 127.0.0.9"))
            let client = try RawClient(port: port, from: "127.0.0.5")
            #expect(try await client.handshake().hasPrefix("HTTP/1.1 101"))
            #expect(try await client.shownAddress().hasPrefix("127.0.0.5"))
        }
    }

    @Test(
        "HAProxy's headers of both versions are read",
        arguments: ["send-proxy", "send-proxy-v2", "send-proxy-v2-ssl-cn"])
    func haproxyHeaders(_ option: String) async throws {
        let server = try await start(proxy: "127.0.0.9")
        let client = try RawClient(port: try await haproxy(before: server, options: option), from: "127.0.0.5")
        #expect(try await client.handshake().hasPrefix("HTTP/1.1 101"))
        #expect(try await client.shownAddress().hasPrefix("127.0.0.5:"))
    }

    @Test("with TLS behind HAProxy's header, which its own checks send too without being refused")
    func haproxyTLS() async throws {
        let identity = try await TestIdentity()
        let faults = Journal<HandshakeRefusal>()
        let server = try await start(proxy: "127.0.0.9", faults: faults) { $0.tls = identity.files }
        let port = try await haproxy(before: server, options: "send-proxy-v2 check inter 20ms rise 2")
        let url = WebSocketURL(isSecure: true, host: "localhost", port: port, path: "/v1/signal")
        let (client, journal) = try await TestClient.opened(to: url, trust: identity.trust)
        client.send("who am I")
        let shown = try await journal.first("the address") { if case .received(let text) = $0 { text } else { nil } }
        #expect(shown.hasPrefix("127.0.0.1:"))
        // Checks before the client's connection have been accepted by now.
        #expect(faults.entries.isEmpty)
        #expect(server.refusals.entries == [])
        #expect(server.server.statistics.shards[0].handshakesRefused == 0)
    }

    @Test("HAProxy's X-Forwarded-For is believed, whatever the client puts before it")
    func haproxyForwardedFor() async throws {
        let server = try await start(proxy: "127.0.0.9") { $0.proxies.sendHeaders = false }
        let port = try await haproxy(before: server, mode: "http", options: "", more: "option forwardfor")
        let client = try RawClient(port: port, from: "127.0.0.5")
        #expect(try await client.handshake(more: "X-Forwarded-For: 203.0.113.9\r\n").hasPrefix("HTTP/1.1 101"))
        #expect(try await client.shownAddress() == "127.0.0.5")
    }
}
