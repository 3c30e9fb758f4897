import EventJournal
import EventLoop
import LibWebSockets
import TestCleanup
import Testing
import WebSocketServer

/// What a client does against RFC 6455 and RFC 9112, over a real connection.
@Suite("Clients that break the protocol", .cleanup)
struct ProtocolFaultTests {
    private let server: TestServer

    init() async throws { server = try await TestServer.start() }

    private static let mask: [UInt8] = [0, 0, 0, 0]

    @Test(
        "as a WebSocket are told the close code, and then are gone",
        arguments: [
            ([0x81, 0x02, 0x68, 0x69], 1002), ([0xC1, 0x81] + mask + [0x61], 1002),
            ([0x83, 0x81] + mask + [0x61], 1002),
            ([0x89, 0xFE, 0x00, 0x7E] + mask + [UInt8](repeating: 0, count: 126), 1002),
            ([0x09, 0x80] + mask, 1002), ([0x80, 0x81] + mask + [0x61], 1002),
            ([0x01, 0x81] + mask + [0x61, 0x81, 0x81] + mask + [0x61], 1002),
            ([0x81, 0xFF] + [UInt8](repeating: 0xFF, count: 8) + mask, 1002),
            ([0x81, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 7) + mask, 3502),
            ([0x88, 0x81] + mask + [0x03], 1002), ([0x88, 0x82] + mask + [0x03, 0xED], 1002),
            ([0x88, 0x83] + mask + [0x03, 0xE8, 0xFF], 1007), ([0x82, 0x81] + mask + [0x61], 1003),
        ] as [([UInt8], UInt16)])
    func frames(_ bytes: [UInt8], _ code: UInt16) async throws {
        let client = try await server.connect()
        try await client.write(bytes)
        let received = WebSocketServerTests.frames(in: try await client.readToEnd())
        #expect(received.map(\.opcode) == [8])
        #expect(received.first?.payload.prefix(2).elementsEqual([UInt8(code >> 8), UInt8(code & 0xFF)]) == true)
        client.endWriting()
        try await server.journal.wait(for: .closed(1))
        await server.stop()
        #expect(server.server.statistics.shards[0].badFrames == 1)
        #expect(server.server.statistics.shards[0].messagesIn == 0)
    }

    private static let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    private static let upgrade = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
    private static let offer = "Sec-WebSocket-Protocol: reveille.v1\r\n"
    private static let version = "Sec-WebSocket-Version: 13\r\n"

    @Test(
        "in their handshake get an answer by HTTP that says what is wrong",
        arguments: [
            (upgrade + offer + version + key, "GET /v1/signal HTTP/1.1", "400 "),
            ("Host: h\r\nHost: h\r\n" + upgrade + offer + version + key, "GET /v1/signal HTTP/1.1", "400 "),
            ("Host: h\r\n" + upgrade + offer + version, "GET /v1/signal HTTP/1.1", "400 "),
            (
                "Host: h\r\n" + upgrade + offer + version + "Sec-WebSocket-Key: short\r\n", "GET /v1/signal HTTP/1.1",
                "400 "
            ),
            ("Host: h\r\n" + upgrade + offer + version + key + key, "GET /v1/signal HTTP/1.1", "400 "),
            ("Host: h\r\n" + upgrade + offer + key, "GET /v1/signal HTTP/1.1", "426 "),
            ("Host: h\r\n" + upgrade + offer + "Sec-WebSocket-Version: 8\r\n" + key, "GET /v1/signal HTTP/1.1", "426 "),
            ("Host: h\r\n" + upgrade + version + key, "GET /v1/signal HTTP/1.1", "400 "),
            ("Host: h\r\n" + upgrade + offer + version + key, "POST /v1/signal HTTP/1.1", "405 "),
            ("Host: h\r\n" + upgrade + offer + version + key, "GET /v1/signal HTTP/1.0", "400 "),
            ("Host: h\r\nContent-Length: 10\r\n" + upgrade + offer + version + key, "GET /v1/signal HTTP/1.1", "400 "),
            (
                "Host: h\r\nTransfer-Encoding: chunked\r\n" + upgrade + offer + version + key,
                "GET /v1/signal HTTP/1.1", "400 "
            ),
            ("Host: h\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n", "GET / HTTP/1.1", "400 "),
            ("Host: h\r\nConnection: close\r\n", "GET /v1/signal HTTP/1.1", "426 "),
            ("Host: h\r\nX: \(String(repeating: "x", count: 40_000))\r\n", "GET / HTTP/1.1", "431 "),
            ("Host: h\r\n", "GET /\(String(repeating: "x", count: 40_000)) HTTP/1.1", "431 "),
            ("Host: h\r\nbad header\r\n", "GET / HTTP/1.1", "400 "), ("Host: h\r\n", "GET / HTTP/3", "505 "),
            ("Host: h\r\n", "BREW /healthz HTTP/1.1", "405 "),
            ("Host: h\r\nContent-Length: -1\r\n", "POST /echo HTTP/1.1", "400 "),
            ("Host: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n", "POST /echo HTTP/1.1", "400 "),
            ("Host: h\r\nContent-Length: 99999999999999999999\r\n", "POST /echo HTTP/1.1", "413 "),
        ])
    func handshakes(_ headers: String, _ line: String, _ status: String) async throws {
        let client = try RawClient(port: server.address.port)
        try await client.write("\(line)\r\n\(headers)\r\n")
        let answer = String(decoding: try await client.readToEnd(), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer)")
        if status == "426 ", headers.contains("websocket") { #expect(answer.contains("Sec-WebSocket-Version: 13\r\n")) }
        await server.stop()
        #expect(server.server.statistics.shards[0].opened == 0)
    }

    @Test("bytes of TLS, or of anything else, are answered at once")
    func foreign() async throws {
        for bytes: [UInt8] in [[0x16, 0x03, 0x01, 0x02, 0x00], [0xFF], [0x00]] {
            let client = try RawClient(port: server.address.port)
            try await client.write(bytes)
            let answer = String(decoding: try await client.readToEnd(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 400 "))
        }
    }

    @Test("a ping is answered with its payload, an unasked pong with nothing, and a close with its code")
    func controls() async throws {
        let client = try await server.connect()
        let payload = [UInt8](repeating: 0x70, count: 125)
        try await client.sendFrame(opcode: 10, [1, 2, 3])
        try await client.sendFrame(opcode: 9, payload)
        try await client.sendFrame(opcode: 9, [])
        try await client.sendFrame(opcode: 8, [0x0F, 0xA0, 0x62])
        let received = WebSocketServerTests.frames(in: try await client.readToEnd())
        #expect(received.map(\.opcode) == [10, 10, 8])
        #expect(received.map(\.payload) == [payload, [], [0x0F, 0xA0]])
        try await server.journal.wait(for: .closed(1))
    }

    @Test("a close without a code is answered with one without")
    func emptyClose() async throws {
        let client = try await server.connect()
        try await client.sendFrame(opcode: 8, [])
        let received = WebSocketServerTests.frames(in: try await client.readToEnd())
        #expect(received.map(\.opcode) == [8] && received.first?.payload == [])
    }

    @Test("frames that come with the handshake, in one piece, are read")
    func atOnce() async throws {
        let client = try RawClient(port: server.address.port)
        try await client.write(
            Array(("GET /v1/signal HTTP/1.1\r\nHost: h\r\n" + Self.upgrade + Self.offer + Self.version + Self.key).utf8)
                + Array("\r\n".utf8) + [0x81, 0x85] + Self.mask + Array("hello".utf8))
        try await server.journal.wait(for: .received(1, "hello"))
    }
}
