import EventJournal
import EventLoop
import TestCleanup
import Testing
import WebSocketServer

@Suite("Clients that do not read, all together", .cleanup, .timeLimit(.minutes(5)))
struct SlowReaderTests {
    private static let limit = 400_000

    private func start() async throws -> TestServer {
        try await TestServer.start {
            ($0.maxUnreadBytes, $0.maxQueuedBytes) = (Self.limit, 100_000_000)
        }
    }

    private func figures(_ server: TestServer) -> ShardStatistics { server.server.statistics.shards[0] }

    /// A client with unread bytes in the server.
    private func slowClient(_ server: TestServer) async throws -> RawClient {
        let before = server.journal.entries.count
        let client = try await server.connect()
        try await client.sendFrame(opcode: 1, Array("make me wait".utf8))
        try await server.journal.wait(for: "its messages") { entries in
            let received = entries[before...].firstIndex { entry in
                if case .received(_, "make me wait") = entry { true } else { false }
            }
            return received.map { entries[$0...].contains(.batchEnded) } ?? false
        }
        return client
    }

    private func isClosedAsSlow(_ client: RawClient) async throws -> Bool {
        let last = frames(in: try await client.readToEnd()).last
        let code = [UInt8(3001 >> 8), UInt8(3001 & 0xFF)]
        return last?.opcode == 8 && last?.payload.prefix(2).elementsEqual(code) == true
    }

    @Test("the one that has read nothing for the longest time is closed with 3001; one that reads stays")
    func order() async throws {
        let server = try await start()
        let reader = try await slowClient(server)
        let unread = figures(server).unreadBytes
        #expect(unread > 0)
        let first = try await slowClient(server)
        var read: [UInt8] = []
        while figures(server).unreadBytes > unread { read += try await reader.read() }
        var others: [RawClient] = []
        while figures(server).slowConsumers == 0 { others.append(try await slowClient(server)) }
        #expect(figures(server).unreadBytes <= Self.limit)
        #expect(try await isClosedAsSlow(first))
        try await reader.sendFrame(opcode: 1, Array("hello".utf8))
        while frames(in: read).last?.payload != Array("hello".utf8) { read += try await reader.readMore() }
        await server.stop()
        withExtendedLifetime(others) {}
    }

    @Test("a client that reads nothing stays first, however much more it is sent")
    func growth() async throws {
        let server = try await start()
        let first = try await slowClient(server)
        var others = [try await slowClient(server)]
        let unread = figures(server).unreadBytes
        try await first.sendFrame(opcode: 1, Array("more".utf8))
        try await server.journal.wait(for: "more for the first") { _ in figures(server).unreadBytes > unread }
        while figures(server).slowConsumers == 0 { others.append(try await slowClient(server)) }
        #expect(try await isClosedAsSlow(first))
        await server.stop()
        withExtendedLifetime(others) {}
    }

    @Test("clients that are closing already are cut, and count no more")
    func closing() async throws {
        let server = try await start()
        let closing = try await server.connect()
        try await closing.sendFrame(opcode: 1, Array("make me wait, say bye and close me".utf8))
        try await server.journal.wait(for: "its close") { entries in
            entries.firstIndex(of: .received(1, "make me wait, say bye and close me")).map {
                entries[$0...].contains(.batchEnded)
            } ?? false
        }
        let flooded = try await server.connect()
        try await flooded.sendFrame(opcode: 1, Array("flood me".utf8))
        try await server.journal.wait(for: .closed(1))
        #expect(figures(server).unreadBytes <= Self.limit)
        await server.stop()
        withExtendedLifetime(flooded) {}
    }

    @Test("a flood for one client closes first the others, which have not read for longer, then that client")
    func flood() async throws {
        let server = try await start()
        let clients = [try await slowClient(server), try await slowClient(server)]
        let flooded = try await server.connect()
        try await flooded.sendFrame(opcode: 1, Array("flood me".utf8))
        try await server.journal.wait(for: "the flood") { entries in
            entries.firstIndex(of: .received(3, "flood me")).map { entries[$0...].contains(.batchEnded) } ?? false
        }
        #expect(figures(server).slowConsumers >= 3)
        #expect(figures(server).unreadBytes <= Self.limit)
        for client in clients { _ = try await client.readToEnd() }
        _ = try await flooded.readToEnd()
        try await server.journal.wait(for: "all ends") { entries in
            (1...3).allSatisfy { entries.contains(.closed($0)) }
        }
        #expect(figures(server).unreadBytes == 0)
        await server.stop()
    }

    @Test("what is sent as the client reads fills no queue, however much it is, and keeps its place in the order")
    func later() async throws {
        let server = try await TestServer.start()
        let client = try await server.connect()
        try await client.sendFrame(opcode: 1, Array("tell me all".utf8))
        try await server.journal.wait(for: "the messages") { entries in
            entries.firstIndex(of: .received(1, "tell me all")).map { entries[$0...].contains(.batchEnded) } ?? false
        }
        #expect(figures(server).slowConsumers == 0)
        #expect(figures(server).unreadBytes < 200_000, "the messages are not made yet")
        var bytes: [UInt8] = []
        let last = Array("that was all".utf8)
        while !bytes.suffix(last.count).elementsEqual(last) { bytes += try await client.readMore() }
        let texts = frames(in: bytes).map { String(decoding: $0.payload.prefix(12), as: UTF8.self) }
        let numbers = texts.compactMap { $0.hasPrefix("xxx") ? nil : $0.split(separator: " ").first.map(String.init) }
        #expect(numbers == (0..<100).map { "\($0)" } + ["that"])
        #expect(figures(server).slowConsumers == 0)
        await server.stop()
    }

    @Test("an HTTP client that does not read its response is cut")
    func http() async throws {
        let server = try await start()
        let client = try RawClient(port: server.address.port)
        try await client.write("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        // It begins to read too late.
        while figures(server).slowConsumers == 0 { _ = await server.loops[0].run {} }
        #expect(try await client.readToEnd().count < 3_000_000)
        #expect(figures(server).slowConsumers == 1)
        #expect(figures(server).unreadBytes == 0)
        await server.stop()
    }
}
