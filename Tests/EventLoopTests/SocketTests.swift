import EventJournal
import EventLoop
import Glibc
import Synchronization
import Testing

@Suite("Sockets on a loop")
struct SocketTests {
    private enum Event: Equatable, Sendable {
        case accepted
        case connected
        case received(Int)
        case drained
        case closed(Int32?)
    }

    /// What lives on the loop.
    private final class Sockets {
        var acceptor: SocketAcceptor?
        var all: [TCPConnection] = []
    }

    private func event(_ event: TCPConnection.Event) -> Event {
        switch event {
        case .connected: .connected
        case .received(let bytes): .received(bytes.count)
        case .drained: .drained
        case .closed(let error): .closed(error?.errno)
        }
    }

    private func loopback(_ port: UInt16 = 0) -> SocketAddress {
        // Numeric, so never nil.
        SocketAddress(host: "127.0.0.1", port: port)!
    }

    /// A socket with a port of its own on which nobody listens.
    private func bindOnly() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutableBytes(of: &address) {
            // A variable has an address.
            let raw = $0.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            return bind(descriptor, raw, length) == 0 ? getsockname(descriptor, raw, &length) : -1
        }
        try #require(result == 0)
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private func received(_ entries: [Event]) -> Int {
        entries.reduce(0) { if case .received(let count) = $1 { $0 + count } else { $0 } }
    }

    @Test("the kernel queues less than half a megabyte for an accepted peer that reads nothing")
    func unsentOutput() async throws {
        let loop = try EventLoop(name: "socket test")
        loop.start()
        let written = Journal<Int>()
        let sockets = LoopBound(Sockets(), on: loop)
        let started = await loop.run { [self] in
            Result {
                let acceptor = try SocketAcceptor(loop: loop, address: loopback()) { descriptor in
                    let chunk = [UInt8](repeating: 7, count: 16_384)
                    var total = 0
                    while case let count = write(descriptor, chunk, chunk.count), count > 0 { total += count }
                    written.append(errno == EAGAIN ? total : -1)
                    close(descriptor)
                }
                sockets.value.acceptor = acceptor
                return acceptor.address
            }
        }
        let address = try #require(try started?.get())
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        // The client's own queue is small.
        var size: Int32 = 8_192
        setsockopt(client, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        var peer = sockaddr_in()
        peer.sin_family = sa_family_t(AF_INET)
        peer.sin_addr.s_addr = inet_addr("127.0.0.1")
        peer.sin_port = address.port.bigEndian
        let isConnected = withUnsafeBytes(of: &peer) {
            // A variable has an address.
            connect(
                client, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
        try #require(isConnected)
        let total = try await written.first("the socket is full") { $0 }
        #expect(total > 0)
        #expect(total < 500_000)
        _ = await loop.run { sockets.value.acceptor = nil }
        await loop.stopAndWait()
    }

    @Test("a megabyte comes back through an acceptor and an echo, and both ends close")
    func echo() async throws {
        let loop = try EventLoop(name: "socket test")
        loop.start()
        let (server, client) = (Journal<Event>(), Journal<Event>())
        let sockets = LoopBound(Sockets(), on: loop)
        let count = 1_000_000
        let started = await loop.run { [self] in
            Result {
                let acceptor = try SocketAcceptor(loop: loop, address: loopback()) { descriptor in
                    server.append(.accepted)
                    let index = sockets.value.all.count
                    sockets.value.all.append(
                        TCPConnection.adopt(loop: loop, descriptor: descriptor) { event in
                            server.append(self.event(event))
                            if case .received(let bytes) = event { sockets.value.all[index].write(Array(bytes)) }
                        })
                }
                sockets.value.acceptor = acceptor
                sockets.value.all.append(
                    TCPConnection.connect(loop: loop, to: acceptor.address) { event in
                        client.append(self.event(event))
                        if case .connected = event {
                            sockets.value.all[0].write([UInt8](repeating: 7, count: count))
                        }
                    })
            }
        }
        try started?.get()
        try await client.wait(for: "all of it back") { received($0) == count }
        #expect(client.entries.first == .connected)
        _ = await loop.run { sockets.value.all[0].close() }
        try await client.wait(for: .closed(nil))
        try await server.wait(for: .closed(nil))
        #expect(server.entries.first == .accepted)
        #expect(received(server.entries) == count)
        _ = await loop.run {
            #expect(sockets.value.all.allSatisfy { $0.pendingBytes == 0 })
            sockets.value.acceptor = nil
            sockets.value.all = []
        }
        await loop.stopAndWait()
    }

    @Test("a port where nobody listens is told as ECONNREFUSED, and a port in use as EADDRINUSE")
    func errors() async throws {
        let loop = try EventLoop(name: "socket test")
        loop.start()
        let journal = Journal<Event>()
        let sockets = LoopBound(Sockets(), on: loop)
        let result: Result<UInt16, any Error>? = await loop.run { [self] in
            Result {
                let acceptor = try SocketAcceptor(loop: loop, address: loopback()) { close($0) }
                sockets.value.acceptor = acceptor
                return acceptor.address.port
            }
        }
        let port = try #require(try result?.get())
        let second = await loop.run { [self] in
            Result { _ = try SocketAcceptor(loop: loop, address: loopback(port)) { close($0) } }
        }
        let error = #expect(throws: SystemError.self) { try second?.get() }
        #expect(error?.errno == EADDRINUSE)
        // Bound but not listening: a port that was listened on may still be, by a child that another test forks.
        let (descriptor, deaf) = try bindOnly()
        defer { close(descriptor) }
        _ = await loop.run { [self] in
            sockets.value.acceptor = nil
            sockets.value.all = [
                TCPConnection.connect(loop: loop, to: loopback(deaf)) { journal.append(self.event($0)) }
            ]
        }
        try await journal.wait(for: .closed(ECONNREFUSED))
        #expect(journal.entries == [.closed(ECONNREFUSED)])
        _ = await loop.run { sockets.value.all = [] }
        await loop.stopAndWait()
    }

    @Test("a loop that stops closes the sockets that are still open")
    func stopWithOpenSockets() async throws {
        let loop = try EventLoop(name: "socket test")
        loop.start()
        var pair: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        let inner = pair[0]
        let journal = Journal<Event>()
        _ = await loop.run { [self] in
            _ = TCPConnection.adopt(loop: loop, descriptor: inner) { journal.append(self.event($0)) }
        }
        await loop.stopAndWait()
        var byte: UInt8 = 0
        #expect(recv(pair[1], &byte, 1, 0) == 0)
        close(pair[1])
    }

    @Test("writing to a peer that has gone ends the connection, not the process")
    func brokenPipe() async throws {
        let loop = try EventLoop(name: "socket test")
        loop.start()
        var pair: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        let inner = pair[0]
        let journal = Journal<Event>()
        close(pair[1])
        _ = await loop.run { [self] in
            let connection = TCPConnection.adopt(loop: loop, descriptor: inner) { journal.append(self.event($0)) }
            connection.write([1, 2, 3])
        }
        try await journal.wait(for: .closed(EPIPE))
        #expect(journal.entries == [.closed(EPIPE)])
        await loop.stopAndWait()
    }

    @Test("names are looked up off the loop, and unknown ones are an error")
    func lookUp() async throws {
        let loop = try EventLoop(name: "socket test")
        loop.start()
        let journal = Journal<String>()
        _ = await loop.run {
            NameLookup.resolve(loop: loop, host: "localhost", port: 80) { result in
                let isFound = (try? result.get().contains { $0.isLoopback && $0.port == 80 }) == true
                journal.append(isFound ? "found" : "lost")
            }
            NameLookup.resolve(loop: loop, host: "no.such.name.invalid", port: 80) { result in
                guard case .failure(let error) = result else { return }
                journal.append("\(error)")
                journal.append("errno \(error.errno)")
            }
        }
        try await journal.wait(for: "found")
        try await journal.wait(for: "errno \(EHOSTUNREACH)", limit: .seconds(30))
        let words = journal.entries.filter { $0.hasPrefix("look up no.such.name.invalid: ") }
        #expect(words.count == 1 && !words.contains { $0.contains("route") }, "\(journal.entries)")
        await loop.stopAndWait()
    }

    /// Runs `job` when the loop takes no other jobs any more, right before it closes its handles.
    private func last(on loop: EventLoop, _ job: @escaping @Sendable () -> Void) {
        loop.execute { [self] in if loop.hasStopped { job() } else { last(on: loop, job) } }
    }

    @Test("a loop that ends drops a look-up without its completion, which may own what the end has closed")
    func stopWithLookUp() async throws {
        let loop = try EventLoop(name: "socket test")
        loop.start()
        let journal = Journal<String>()
        last(on: loop) {
            let timer = LoopTimer(loop: loop) { journal.append("fired") }
            timer.start(after: .zero)
            let precise = try? PreciseTimer(loop: loop) { journal.append("fired") }
            NameLookup.resolve(loop: loop, host: "no.such.name.invalid", port: 80) { _ in
                journal.append("found")
                withExtendedLifetime((timer, precise)) {}
            }
            journal.append("begun")
        }
        await loop.stopAndWait()
        #expect(journal.entries == ["begun"])
        #expect(loop.hasStopped && !loop.execute {})
    }

    @Test("addresses read and write themselves, and know the loopback")
    func addresses() {
        #expect(SocketAddress(host: "127.0.0.1", port: 80)?.description == "127.0.0.1:80")
        #expect(SocketAddress(host: "::1", port: 80)?.description == "[::1]:80")
        #expect(SocketAddress(host: "::1", port: 80)?.isLoopback == true)
        #expect(SocketAddress(host: "10.0.0.1", port: 80)?.isLoopback == false)
        #expect(SocketAddress(host: "localhost", port: 7)?.host == "127.0.0.1")
        for host in ["", "256.0.0.1", "a.example", "1.2.3"] { #expect(SocketAddress(host: host, port: 80) == nil) }
    }
}
