import Synchronization

/// The counters of ``ShardStatistics``. Written on the shard's loop, read on any thread.
final class ShardCounters: Sendable {
    /// One counter with a single writer, so a load and a store suffice for an addition.
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
    /// Bytes queued for clients to read.
    let unread = Atomic<Int>(0)
    /// Descriptors passed to the shard and not released yet. Also written by the acceptor.
    let held = Atomic<Int>(0)
    /// The part of `held` that the shard has not adopted yet. Also written by the acceptor.
    let arriving = Atomic<Int>(0)
    /// The unvouched part of `held`.
    let strangers = Atomic<Int>(0)
    /// Evictions requested and not performed yet. Also written by the acceptor.
    let evicting = Atomic<Int>(0)
    /// `evicting`, plus evicted connections whose descriptor is not released yet. Also written by the acceptor.
    let leaving = Atomic<Int>(0)

    /// The number of connections that can still be evicted.
    var evictable: Int { strangers.load(ordering: .relaxed) - evicting.load(ordering: .relaxed) }

    /// The number of connections that are arriving or leaving.
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
            requests: requests.value, unfinished: unfinished.value, unreadBytes: unread.load(ordering: .relaxed))
    }
}
