import EventLoop
import Glibc
import Synchronization

/// Accepts on one loop, which may be a shard's, and hands each descriptor to the shard that has the fewest.
final class Listener: Sendable {
    /// How many descriptors may wait for one shard. Adoption takes some 20 µs each.
    private static let mailboxCapacity = 4096

    let loop: EventLoop
    private let shards: [(counters: ShardCounters, mailbox: Mailbox<Int32>)]
    private let maxConnections: Atomic<Int>
    // Proof for `nonisolated(unsafe)`: touched on `loop` only, which the acceptor checks.
    private nonisolated(unsafe) var acceptor: SocketAcceptor?
    private let acceptedCount = Atomic<UInt64>(0)
    private let refusedCount = Atomic<UInt64>(0)
    private let exhaustedCount = Atomic<UInt64>(0)

    init(loop: EventLoop, shards: [LoopBound<Shard>], counters: [ShardCounters], maxConnections: Int) {
        self.loop = loop
        self.maxConnections = Atomic(maxConnections)
        self.shards = zip(shards, counters).map { shard, counters in
            let mailbox = Mailbox<Int32>(loop: shard.loop, capacity: Self.mailboxCapacity) { descriptors in
                shard.value.adopt(descriptors)
            }
            return (counters, mailbox)
        }
    }

    var accepted: UInt64 { acceptedCount.load(ordering: .relaxed) }
    var refused: UInt64 { refusedCount.load(ordering: .relaxed) }
    var exhausted: UInt64 { exhaustedCount.load(ordering: .relaxed) }

    /// Counts from the next connection on; those that are there stay. Any thread.
    func setMaxConnections(_ count: Int) {
        maxConnections.store(count, ordering: .relaxed)
    }

    /// - Returns: the bound address.
    /// - Throws: `SystemError`.
    func start(at address: SocketAddress) async throws -> SocketAddress {
        let result: Result<SocketAddress, any Error>? = await loop.run { [self] in
            Result {
                let acceptor = try SocketAcceptor(loop: loop, address: address) { [unowned self] in place($0) }
                self.acceptor = acceptor
                return acceptor.address
            }
        }
        guard let result else { throw SystemError(operation: "listen on \(address)", errno: ECANCELED) }
        return try result.get()
    }

    func stop() async {
        _ = await loop.run { [self] in
            updateExhausted()
            acceptor = nil
        }
    }

    /// Closes the socket and, if told, ends the loop, without anyone waiting for it.
    func abandon(stoppingLoop: Bool) {
        loop.execute { [self] in acceptor = nil }
        if stoppingLoop { loop.stop() }
    }

    private func place(_ descriptor: Int32) {
        acceptedCount.add(1, ordering: .relaxed)
        updateExhausted()
        var total = 0
        var best = 0
        var fewest = Int.max
        for index in shards.indices {
            let held = shards[index].counters.held.load(ordering: .relaxed)
            total += held
            if held < fewest { (best, fewest) = (index, held) }
        }
        guard total < maxConnections.load(ordering: .relaxed) else { return refuse(descriptor) }
        // Counted before the shard can see it, which counts it back.
        shards[best].counters.held.add(1, ordering: .relaxed)
        if !shards[best].mailbox.post(descriptor) {
            shards[best].counters.held.subtract(1, ordering: .relaxed)
            refuse(descriptor)
        }
    }

    private func refuse(_ descriptor: Int32) {
        // Counted before the client can see it.
        refusedCount.add(1, ordering: .relaxed)
        close(descriptor)
    }

    private func updateExhausted() {
        if let acceptor { exhaustedCount.store(UInt64(acceptor.exhausted), ordering: .relaxed) }
    }
}
