import EventJournal
import EventLoop
import Glibc
import LibWebSockets
import Synchronization
import TestCleanup
import Testing

/// The tests take descriptors of their process, and lower its limit.
@Suite("Contexts by descriptors' numbers", .ownProcess, .cleanup)
struct ServerContextsTests {
    /// Sends back what it is sent.
    private final class Echo: ServerSocketEvents {
        enum Event: Equatable {
            case closed
            case released
        }

        private final class Owner {
            // Proof: the socket owns this.
            unowned let socket: ServerSocket

            init(_ socket: ServerSocket) { self.socket = socket }
        }

        let journal: Journal<Event>

        init(_ journal: Journal<Event>) { self.journal = journal }

        func socketAdopted(_ socket: ServerSocket) {}
        func watch(_ socket: ServerSocket, _ watch: ServerSocket.Watch) {}
        func socketOpened(_ socket: ServerSocket) -> AnyObject { Owner(socket) }
        func socketReceived(_ frame: FrameReader.Frame, owner: AnyObject) {
            if case .text(let text) = frame { _ = (owner as? Owner)?.socket.write(text) }
        }
        func socketRead(_ socket: ServerSocket, messages: Int, isInMessage: Bool) {}
        func socketUnread(_ socket: ServerSocket, change: Int) {}
        func socketIsWritable(owner: AnyObject) {}
        func socketClosed(owner: AnyObject) { journal.append(.closed) }
        func socketReleased(_ socket: ServerSocket) { journal.append(.released) }
        func admitsForwarded(_ socket: ServerSocket) -> Bool { true }
        func clientUnreadable(_ entry: String, from peer: PeerAddress) {}
        func refusal(of credentials: Credentials) -> HTTPResponse? { nil }
        func rateRefusal(of request: HTTPRequest) -> HTTPResponse? { nil }
        func handshakeRefused(_ refusal: HandshakeRefusal) {}
        func requestBegan(_ request: HTTPRequest, _ responder: HTTPResponder) {}
        func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {}
    }

    private final class Served {
        let events: Echo
        let contexts: ServerContexts

        init(_ loop: EventLoop, _ journal: Journal<Echo.Event>, width: Int) throws {
            events = Echo(journal)
            let role = ServerRole(path: "/", subprotocol: "echo", tls: nil, events: events)
            contexts = try ServerContexts(loop: loop, role: role, width: width)
        }
    }

    private static let upgrade =
        "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: echo\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

    /// The server's end, whose number is `lowest` or above, and that of a client which waits for 10 s at most.
    private func pair(from lowest: Int = 0) throws -> (server: Int32, client: Int32) {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let server = fcntl(ends[0], F_DUPFD_CLOEXEC, Int32(lowest))
        close(ends[0])
        ends[0] = server
        try #require(server >= lowest)
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return (ends[0], ends[1])
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32) {
        _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    private func read(from descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    private func running(
        width: Int, journal: Journal<Echo.Event>
    ) async throws -> LoopBound<Served> {
        let loop = try EventLoop(name: "ranges")
        loop.start()
        let served = await loop.run {
            Result { LoopBound(try Served(loop, journal, width: width), on: loop) }
        }
        return try #require(served).get()
    }

    private func stop(_ served: LoopBound<Served>) async {
        await withCheckedContinuation { done in
            served.loop.execute { served.value.contexts.destroy { done.resume() } }
        }
        await served.loop.stopAndWait()
    }

    @Test("each range of numbers has a context, made when the first connection of it comes, and all of them serve")
    func ranges() async throws {
        let journal = Journal<Echo.Event>()
        let served = try await running(width: 64, journal: journal)
        #expect(await served.loop.run { served.value.contexts.count } == 1)
        let pairs = try [0, 0, 600, 400, 601, 900, 450].map { try pair(from: $0) }
        defer { for pair in pairs { close(pair.client) } }
        let counts = await served.loop.run {
            pairs.map { pair in
                #expect(served.value.contexts.adopt(pair.server))
                return served.value.contexts.count
            }
        }
        #expect(counts == pairs.indices.map { Set(pairs[...$0].map { $0.server / 64 } + [0]).count })
        let ranges = Set(pairs.map { $0.server / 64 } + [0]).count
        #expect(ranges > 4)

        for pair in pairs { write(Array(Self.upgrade.utf8), to: pair.client) }
        for pair in pairs { #expect(read(from: pair.client).hasPrefix("HTTP/1.1 101 ")) }
        for (number, pair) in pairs.enumerated() {
            // One frame, masked with zeros.
            write([0x81, 0x83, 0, 0, 0, 0] + String(100 + number).utf8, to: pair.client)
        }
        for (number, pair) in pairs.enumerated() { #expect(read(from: pair.client).hasSuffix("\(100 + number)")) }

        // A number that is given back serves again, in the same context.
        shutdown(pairs[2].client, Int32(SHUT_RDWR))
        try await journal.wait(for: .released)
        let again = try pair(from: 600)
        defer { close(again.client) }
        #expect(await served.loop.run { served.value.contexts.adopt(again.server) } == true)
        write(Array(Self.upgrade.utf8), to: again.client)
        #expect(read(from: again.client).hasPrefix("HTTP/1.1 101 "))
        #expect(await served.loop.run { served.value.contexts.count } == ranges)

        await stop(served)
        #expect(journal.entries.count { $0 == .closed } == pairs.count + 1)
        #expect(journal.entries.count { $0 == .released } == pairs.count + 1)
    }

    @Test("a context knows of no numbers beyond its own")
    func bounded() async throws {
        let (loop, journal) = (try EventLoop(name: "bounded"), Journal<Echo.Event>())
        loop.start()
        let (near, far) = (try pair(from: 700), try pair(from: 800))
        let isAdopted = await loop.run {
            let events = Echo(journal)
            let role = LWSContext.Role.server(ServerRole(path: "/", subprotocol: "echo", tls: nil, events: events))
            guard let context = try? LWSContext(loop: loop, role: role, numbersBelow: Int(near.server) + 1) else {
                return [Bool]()
            }
            defer { context.destroy { withExtendedLifetime(events) {} } }
            return [context.adopt(near.server), context.adopt(far.server)]
        }
        #expect(isAdopted == [true, false])
        await loop.stopAndWait()
        close(near.client)
        close(far.client)
    }

    @Test(
        "where all numbers of a range are taken, or nearly all, its connections are served all the same",
        arguments: Array(0...12) + Array(44...52))
    func taken(free: Int) async throws {
        let served = try await running(width: 64, journal: Journal())
        let ends = try pair(from: 310)
        defer { close(ends.client) }
        var taken: [Int32] = []
        repeat { taken.append(open("/dev/null", O_RDONLY | O_CLOEXEC)) } while 0..<340 ~= taken[taken.count - 1]
        let freed = Set(taken.filter { $0 < 320 }.suffix(free))
        taken.removeAll { freed.contains($0) }
        for descriptor in freed { close(descriptor) }
        defer { for descriptor in taken { close(descriptor) } }
        #expect(await served.loop.run { served.value.contexts.adopt(ends.server) } == true)
        write(Array(Self.upgrade.utf8), to: ends.client)
        #expect(read(from: ends.client).hasPrefix("HTTP/1.1 101 "))
        await stop(served)
    }

    @Test("while contexts are made other threads open files, and the process's limit is as it was")
    func limitWhileMade() async throws {
        let before = DescriptorLimit.current
        let isDone = Atomic<Bool>(false)
        let failures = Atomic<Int>(0)
        let opened = Atomic<Int>(0)
        // A thread of its own: the limit is the whole process's.
        let opener = try EventLoop(name: "opener")
        opener.start()
        opener.execute {
            while !isDone.load(ordering: .relaxed) {
                let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
                if file < 0 { failures.add(1, ordering: .relaxed) } else { close(file) }
                opened.add(1, ordering: .relaxed)
            }
        }
        for _ in 0..<20 {
            let client = try await TestClient()
            #expect(DescriptorLimit.current == before)
            await client.stop()
        }
        isDone.store(true, ordering: .relaxed)
        await opener.stopAndWait()
        #expect(failures.load(ordering: .relaxed) == 0 && opened.load(ordering: .relaxed) > 0)
        #expect(DescriptorLimit.current == before)
    }

    @Test("a context that ends takes nothing more")
    func ended() async throws {
        let journal = Journal<Echo.Event>()
        let served = try await running(width: 64, journal: journal)
        let ends = try pair()
        let isAdopted = await served.loop.run {
            served.value.contexts.destroy {}
            return served.value.contexts.adopt(ends.server)
        }
        #expect(isAdopted == false)
        // Its end is closed.
        #expect(read(from: ends.client) == "")
        close(ends.client)
        await served.loop.stopAndWait()
        #expect(journal.entries == [])
    }
}

@Suite("The ranges of descriptors' numbers")
struct ServerContextWidthTests {
    @Test("with few connections, or TLS, all numbers are one range")
    func one() {
        #expect(ServerContexts.width(connections: 4_096, shards: 1, hasTLS: false, limit: 101_024) == nil)
        #expect(ServerContexts.width(connections: 100_000, shards: 1, hasTLS: true, limit: 101_024) == nil)
    }

    @Test(
        "a range is 4,096 numbers wide for each shard, or wide enough that there are 32 of them",
        arguments: [(1_024, 1, 4_096), (101_024, 1, 4_096), (101_024, 4, 16_384), (1_001_024, 1, 31_282)])
    func widths(limit: Int, shards: Int, expected: Int) {
        #expect(ServerContexts.width(connections: 5_000, shards: shards, hasTLS: false, limit: limit) == expected)
    }
}
