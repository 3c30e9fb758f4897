import EventJournal
import EventLoop
import Glibc
import LibWebSockets
import TestCleanup
import Testing
import WebSocketServer

@Suite("What the server asks of its clients", .cleanup)
struct PolicyTests {
    @Test("a client that does not read is closed with 3001, and others are served meanwhile")
    func slowConsumer() async throws {
        let server = try await TestServer.start { $0.maxQueuedBytes = 200_000 }
        let slow = try await server.connect()
        try await slow.sendFrame(opcode: 1, Array("flood me".utf8))
        try await server.journal.wait(for: .batchEnded)
        try await server.journal.wait(for: "the flood") { entries in
            entries.firstIndex(of: .received(1, "flood me")).map { entries[$0...].contains(.batchEnded) } ?? false
        }
        #expect(server.server.statistics.shards[0].slowConsumers == 1)

        let other = try await server.connect()
        try await other.sendFrame(opcode: 1, Array("hello".utf8))
        #expect(frames(in: try await other.read()).first?.payload == Array("hello".utf8))

        let received = frames(in: try await slow.readToEnd())
        #expect(received.last?.opcode == 8)
        #expect(received.last?.payload.prefix(2).elementsEqual([UInt8(3001 >> 8), UInt8(3001 & 0xFF)]) == true)
        #expect(received.dropLast().allSatisfy { $0.opcode == 1 && $0.payload.count == 50_000 })
        await server.stop()
        #expect(server.journal.entries.count { $0 == .closed(1) } == 1)
    }

    @Test("what is sent together waits message by message when the client does not read, up to the bound")
    func slowConsumerOfBatches() async throws {
        let server = try await TestServer.start { $0.maxQueuedBytes = 110_000 }
        let slow = try await server.connect()
        try await slow.sendFrame(opcode: 1, Array("flood me with batches".utf8))
        try await server.journal.wait(for: "the flood") { entries in
            entries.firstIndex(of: .received(1, "flood me with batches")).map { entries[$0...].contains(.batchEnded) }
                ?? false
        }
        #expect(server.server.statistics.shards[0].slowConsumers == 1)
        let received = frames(in: try await slow.readToEnd())
        #expect(received.last?.opcode == 8)
        #expect(received.last?.payload.prefix(2).elementsEqual([UInt8(3001 >> 8), UInt8(3001 & 0xFF)]) == true)
        let numbers = received.dropLast().map { String(decoding: $0.payload.prefix { $0 != 0x20 }, as: UTF8.self) }
        #expect(numbers.elementsEqual((0..<numbers.count).map { "\($0)" }))
        #expect(numbers.count >= 5)
    }

    @Test("a client that never reads again is cut after its close has waited long enough")
    func cutAfterClose() async throws {
        let server = try await TestServer.start { $0.maxQueuedBytes = 200_000 }
        let slow = try await server.connect()
        try await slow.sendFrame(opcode: 1, Array("flood me".utf8))
        try await server.journal.wait(for: .closed(1), limit: .seconds(20))
        #expect(server.server.statistics.shards[0].connections == 0)
    }

    @Test("what waits in the queue goes out in order once the client reads")
    func queueDrains() async throws {
        let server = try await TestServer.start { $0.maxQueuedBytes = 100_000_000 }
        let client = try await server.connect()
        let count = 300
        for number in 0..<count {
            let text = "\(number) " + String(repeating: "z", count: 60_000)
            try await client.sendFrame(opcode: 1, Array(text.utf8))
        }
        try await client.sendFrame(opcode: 8, [3, 232])
        let received = frames(in: try await client.readToEnd()).filter { $0.opcode == 1 }
        let numbers = received.map { String(decoding: $0.payload.prefix { $0 != 0x20 }, as: UTF8.self) }
        #expect(numbers.elementsEqual((0..<count).map { "\($0)" }.prefix(numbers.count)))
        #expect(received.allSatisfy { $0.payload.count > 60_000 })
    }

    @Test("a client that never answers pings is closed with 3002")
    func pingTimeout() async throws {
        let server = try await TestServer.start {
            $0.pingInterval = .milliseconds(50)
            $0.pingTimeout = .milliseconds(50)
        }
        let silent = try await server.connect()
        // Reads the ping and the close; the answer to its close is waited for, 5 s at most.
        var received = frames(in: try await silent.read())
        while received.last?.opcode != 8 { received += frames(in: try await silent.readMore()) }
        #expect(received.map(\.opcode) == [9, 8])
        #expect(received.last?.payload.prefix(2).elementsEqual([UInt8(3002 >> 8), UInt8(3002 & 0xFF)]) == true)
        try await silent.sendFrame(opcode: 8, [11, 186])
        try await server.journal.wait(for: .closed(1))
        #expect(server.server.statistics.shards[0].pingTimeouts == 1)
    }

    @Test("a client that answers pings, or sends anything, stays")
    func pingAnswered() async throws {
        let server = try await TestServer.start {
            $0.pingInterval = .milliseconds(20)
            // Long: what fails without the answers is the second ping, which then never comes.
            $0.pingTimeout = .seconds(60)
        }
        let client = try await server.connect()
        var pings = 0
        while pings < 10 {
            for frame in frames(in: try await client.readMore()) where frame.opcode == 9 {
                pings += 1
                // Alternately a pong and a message.
                try await client.sendFrame(opcode: pings % 2 == 0 ? 10 : 1, frame.payload)
            }
        }
        #expect(server.server.statistics.shards[0].pingTimeouts == 0)
        #expect(server.server.statistics.shards[0].connections == 1)
    }

    @Test("stopping closes every client with the code given, after what was sent to it")
    func stop() async throws {
        let server = try await TestServer.start { $0.shards = 2 }
        let client = try await TestClient()
        var journals: [Journal<ClientEvent>] = []
        for number in 0..<20 {
            let journal = Journal<ClientEvent>()
            await client.connect(number, to: server.url, journal: journal)
            journals.append(journal)
        }
        for journal in journals { try await journal.wait(for: .opened) }
        // The server hears of a handshake after its client may.
        try await server.journal.wait(for: "all opened") { entries in
            entries.count { if case .opened = $0 { true } else { false } } == 20
        }
        #expect(server.server.statistics.shards.map(\.connections) == [10, 10])
        await server.server.stop(closeCode: 3000, reason: "maintenance", grace: .seconds(5))
        for journal in journals { try await journal.wait(for: .closed(3000, "maintenance")) }
        #expect(server.server.statistics.shards.map(\.connections) == [0, 0])
    }

    @Test("stopping does not wait longer for a client than the grace allows")
    func stopGrace() async throws {
        let server = try await TestServer.start()
        let silent = try await server.connect()
        let time = await ContinuousClock().measure {
            await server.server.stop(closeCode: 3000, reason: "", grace: .milliseconds(200))
        }
        // libwebsockets by itself waits 5 s for a client's answer.
        #expect(time < .seconds(5))
        #expect(server.journal.entries.contains(.closed(1)))
        #expect(frames(in: try await silent.readToEnd()).last?.opcode == 8)
    }

    @Test("after stopAccepting nobody new gets in, and those inside stay")
    func stopAccepting() async throws {
        let server = try await TestServer.start()
        let inside = try await server.connect()
        await server.server.stopAccepting()
        // The kernel may still take it: a child that another test forks holds the socket until it runs its program.
        let outside = try? RawClient(port: server.address.port)
        let answer = try? await outside?.handshake()
        #expect(answer?.hasPrefix("HTTP/1.1 101") != true)
        try await inside.sendFrame(opcode: 1, Array("hello".utf8))
        #expect(frames(in: try await inside.read()).first?.payload == Array("hello".utf8))
    }

    @Test("2,000 connections come and go without leaving a descriptor or a connection behind")
    func comeAndGo() async throws {
        // No other test gets this port when the server has stopped. The literal is a numeric address.
        let address = try SocketAddress(host: "127.0.0.1", port: freePort())!
        let server = try await TestServer.start {
            $0.address = address
            $0.shards = 2
        }
        for _ in 0..<10 { try await round(server, count: 200) }
        try await server.journal.wait(for: "all closed") { entries in
            entries.count { if case .closed = $0 { true } else { false } } == 2000
        }
        #expect(server.server.statistics.shards.reduce(0) { $0 + $1.opened } == 2000)
        #expect(server.server.statistics.shards.map(\.connections) == [0, 0])
        await server.server.stopAccepting()
        await server.stop()
        #expect(descriptors(withPort: server.address.port) == 0)
        #expect(server.lives.value == 0)
    }

    private func round(_ server: TestServer, count: Int) async throws {
        let client = try await TestClient()
        let journal = Journal<ClientEvent>()
        for number in 0..<count { await client.connect(number, to: server.url, journal: journal) }
        try await journal.wait(for: "all open") { $0.count { $0 == .opened } == count }
        #expect(descriptors(withPort: server.address.port) >= 2 * count)
        for number in 0..<count { client.close(number) }
        try await journal.wait(for: "all closed") { $0.count { $0 == .closed(1000, "") } == count }
        await client.stop()
    }

    /// How many descriptors of this process are IPv4 sockets with `port` at one of their ends.
    private func descriptors(withPort port: UInt16) -> Int {
        (0..<Int32(20_000)).count { descriptor in
            ends(of: descriptor).contains(port)
        }
    }

    private func ends(of descriptor: Int32) -> [UInt16] {
        [getsockname, getpeername].compactMap { name in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutableBytes(of: &address) {
                // A variable has an address.
                name(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
            }
            return result == 0 && address.sin_family == AF_INET ? UInt16(bigEndian: address.sin_port) : nil
        }
    }
}
