import LibWebSockets
import Synchronization

/// Limits how often each key may do something: as many times at once as in a minute, then one for each equal part of it.
///
/// The generic cell rate algorithm (ITU-T I.371): the state of a key is the time at which its whole burst is available
/// again. 16 bytes for each key, in a table that grows to ``mostKeys`` and no further. A key whose burst is available
/// needs no entry. In a full table the key that is nearest to that gives way: it is forgiven, and nobody is refused for
/// lack of room. The table stores hashes with a secret of the process, so that nobody can choose keys that collide.
/// Any thread.
public final class RateLimiter: Sendable {
    /// A key, hashed once for several uses.
    public struct Key: Sendable {
        fileprivate let hash: UInt64

        public init(_ key: some Hashable) {
            // Zero marks a free entry.
            hash = max(1, UInt64(bitPattern: Int64(key.hashValue)))
        }
    }

    /// 1 MiB.
    public static let mostKeys = 65_536
    private static let stripeCount = 16
    /// In nanoseconds.
    private static let minute: Int64 = 60_000_000_000

    private struct Entry {
        var hash: UInt64 = 0
        /// When the whole burst is available again, in nanoseconds.
        var fullAt: Int64 = 0
    }

    /// A part of the table, so that threads seldom wait for each other.
    private final class Stripe: Sendable {
        let table = Mutex(Table())
    }

    /// Sets of ``ways`` entries; a hash selects its set.
    private struct Table {
        static let ways = 8
        static let most = RateLimiter.mostKeys / RateLimiter.stripeCount
        var entries = [Entry](repeating: Entry(), count: ways)

        func fullAt(_ hash: UInt64) -> Int64 {
            entries[set(of: hash)].first { $0.hash == hash }?.fullAt ?? 0
        }

        mutating func setFullAt(_ hash: UInt64, _ fullAt: Int64, now: Int64) {
            while true {
                let set = set(of: hash)
                // A set is not empty.
                let place =
                    set.first { entries[$0].hash == hash } ?? set.min { entries[$0].fullAt < entries[$1].fullAt }!
                guard entries[place].hash != hash, entries[place].fullAt > now, entries.count < Self.most else {
                    entries[place] = Entry(hash: hash, fullAt: fullAt)
                    return
                }
                grow()
            }
        }

        private func set(of hash: UInt64) -> Range<Int> {
            let first = Int(truncatingIfNeeded: hash) & (entries.count / Self.ways - 1)
            return first * Self.ways..<(first + 1) * Self.ways
        }

        /// Each set becomes two, with the same entries.
        private mutating func grow() {
            let former = entries
            entries = [Entry](repeating: Entry(), count: former.count * 2)
            for (index, entry) in former.enumerated() where entry.hash != 0 {
                entries[set(of: entry.hash).lowerBound + index % Self.ways] = entry
            }
        }
    }

    private let stripes = (0..<RateLimiter.stripeCount).map { _ in Stripe() }
    /// The time between two at a constant rate, in nanoseconds.
    private let interval: Atomic<Int64>
    private let refusedCount = Atomic<UInt64>(0)

    /// - Parameter perMinute: at least 1.
    public init(perMinute: Int) {
        precondition(perMinute > 0, "a limit of 0 would refuse all")
        interval = Atomic(Self.minute / Int64(perMinute))
    }

    /// Applies to all keys at once. What they have used counts on.
    public func setRate(perMinute: Int) {
        precondition(perMinute > 0, "a limit of 0 would refuse all")
        interval.store(Self.minute / Int64(perMinute), ordering: .relaxed)
    }

    /// How often the limit refused.
    public var refused: UInt64 { refusedCount.load(ordering: .relaxed) }

    /// `wait`, and up to a second more, so that clients refused together do not return together: a different time for
    /// each of 1024 refusals in a row.
    public func spread(_ wait: Duration) -> Duration { wait + .milliseconds(Int64(refused & 1023)) }

    /// Counts one more, if the limit allows it.
    /// - Parameter now: of a monotonic clock, in milliseconds.
    /// - Returns: nil when it is allowed; otherwise the time until it is.
    public func take(_ key: Key, now: Int64) -> Duration? { take(key, shares: 1, now) }

    private func take(_ key: Key, shares: Int, _ now: Int64) -> Duration? {
        check(key, shares, now) { table, fullAt, now in
            if fullAt <= now + Self.minute { table.setFullAt(key.hash, fullAt, now: now) }
        }
    }

    /// As ``take(_:now:)``, without counting one.
    public func wait(_ key: Key, now: Int64) -> Duration? { check(key, 1, now) { _, _, _ in } }

    /// Counts one that has happened, allowed or not.
    public func charge(_ key: Key, now: Int64) { charge(key, shares: 1, now) }

    private func charge(_ key: Key, shares: Int, _ now: Int64) {
        let (now, interval) = (now * 1_000_000, spacing(shares))
        stripe(of: key).table.withLock { table in
            let fullAt = max(table.fullAt(key.hash), now) + interval
            table.setFullAt(key.hash, min(fullAt, now + Self.minute), now: now)
        }
    }

    // MARK: Networks

    /// As ``take(_:now:)``, for all networks of an address: the rate is of an IPv4 address or a /64, and larger networks
    /// have more of it. A refusal by a network does not count in larger ones: their other clients are not to suffer.
    /// - Parameter isApart: counts apart from all that is counted without it.
    public func take(networks network: PeerAddress, apart isApart: Bool = false, now: Int64) -> Duration? {
        for (key, shares) in Self.keys(network, isApart) {
            if let wait = take(key, shares: shares, now) { return wait }
        }
        return nil
    }

    /// As ``take(networks:apart:now:)``, without counting one.
    public func wait(networks network: PeerAddress, now: Int64) -> Duration? {
        for (key, shares) in Self.keys(network) {
            if let wait = check(key, shares, now, { _, _, _ in }) { return wait }
        }
        return nil
    }

    /// Counts one that has happened in all networks of an address.
    public func charge(networks network: PeerAddress, now: Int64) {
        for (key, shares) in Self.keys(network) { charge(key, shares: shares, now) }
    }

    /// What is counted apart.
    private struct Apart<Network: Hashable>: Hashable {
        let network: Network
        let isApart = true
    }

    private static func keys(_ network: PeerAddress, _ isApart: Bool = false) -> [(key: Key, shares: Int)] {
        func key(_ network: some Hashable) -> Key { isApart ? Key(Apart(network: network)) : Key(network) }
        return [(key: key(network), shares: 1)] + network.widerNetworks.map { (key: key($0), shares: $0.shares) }
    }

    /// The time between two of a network with so many shares.
    private func spacing(_ shares: Int) -> Int64 { max(1, interval.load(ordering: .relaxed) / Int64(shares)) }

    // The table uses the lower bits.
    private func stripe(of key: Key) -> Stripe { stripes[Int(key.hash >> 60)] }

    /// - Parameter count: gets the time at which the burst would be available again with one more.
    private func check(
        _ key: Key, _ shares: Int, _ now: Int64, _ count: (inout Table, _ fullAt: Int64, _ now: Int64) -> Void
    ) -> Duration? {
        let (now, interval) = (now * 1_000_000, spacing(shares))
        let wait: Int64 = stripe(of: key).table.withLock { table in
            let fullAt = max(table.fullAt(key.hash), now) + interval
            count(&table, fullAt, now)
            return fullAt - Self.minute - now
        }
        guard wait > 0 else { return nil }
        refusedCount.add(1, ordering: .relaxed)
        // Whole milliseconds, rounded up.
        return .milliseconds((wait + 999_999) / 1_000_000)
    }

    /// Entries of the table, for tests.
    var capacity: Int { stripes.reduce(0) { $0 + $1.table.withLock { $0.entries.count } } }
}
