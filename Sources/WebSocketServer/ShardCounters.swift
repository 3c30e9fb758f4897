import Synchronization

/// The counters behind ``ShardStatistics``. Written on the shard's loop, read anywhere.
final class ShardCounters: Sendable {
    /// One counter. One thread writes it, so that a load and a store do for an addition.
    struct Counter: ~Copyable, Sendable {
        private let storage = Atomic<UInt64>(0)

        func add(_ amount: Int = 1) {
            storage.store(storage.load(ordering: .relaxed) &+ UInt64(amount), ordering: .relaxed)
        }

        var value: UInt64 { storage.load(ordering: .relaxed) }
    }

    let opened = Counter()
    let closed = Counter()
    let messagesIn = Counter()
    let messagesOut = Counter()
    let bytesIn = Counter()
    let bytesOut = Counter()
    let slowConsumers = Counter()
    let pingTimeouts = Counter()
    let badFrames = Counter()
    let handshakesRefused = Counter()
    let connectionsFailed = Counter()
    let requests = Counter()
    let unfinished = Counter()
    /// Descriptors handed to the shard and not released yet. Written by the acceptor too.
    let held = Atomic<Int>(0)
    /// Those of them that the shard has not taken over yet. Written by the acceptor too.
    let arriving = Atomic<Int>(0)
    /// Those of them that nobody vouches for.
    let strangers = Atomic<Int>(0)
    /// Evictions that are ordered and not carried out. Written by the acceptor too.
    let evicting = Atomic<Int>(0)
    /// Those, and evicted connections whose descriptor is not released yet. Written by the acceptor too.
    let leaving = Atomic<Int>(0)

    /// How many connections may still be told to go.
    var evictable: Int { strangers.load(ordering: .relaxed) - evicting.load(ordering: .relaxed) }

    /// How many connections are on their way in or out.
    var unsettled: Int { arriving.load(ordering: .relaxed) + leaving.load(ordering: .relaxed) }

    var snapshot: ShardStatistics {
        // `closed` first: read later it could pass `opened`.
        let closed = closed.value
        let opened = opened.value
        return ShardStatistics(
            connections: Int(opened - min(closed, opened)), opened: opened, messagesIn: messagesIn.value,
            messagesOut: messagesOut.value, bytesIn: bytesIn.value, bytesOut: bytesOut.value,
            slowConsumers: slowConsumers.value, pingTimeouts: pingTimeouts.value, badFrames: badFrames.value,
            handshakesRefused: handshakesRefused.value, connectionsFailed: connectionsFailed.value,
            requests: requests.value, unfinished: unfinished.value)
    }
}
