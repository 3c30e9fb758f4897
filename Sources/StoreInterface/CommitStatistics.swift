/// Statistics of a ``RecordLog`` since its start.
public struct CommitStatistics: Equatable, Sendable {
    /// Durable transactions.
    public package(set) var commits: UInt64 = 0
    /// Batches in those transactions.
    public package(set) var batches: UInt64 = 0
    /// Records in those batches.
    public package(set) var records: UInt64 = 0
    /// Rows written. A record that was replaced by a later one with the same key has no row.
    public package(set) var rows: UInt64 = 0
    /// Failed attempts; each is retried.
    public package(set) var failures: UInt64 = 0
    /// The most batches in one transaction.
    public package(set) var largestGroup = 0
    /// Durations of durable transactions.
    public package(set) var latency = LatencyCounts()
    /// Batches per transaction.
    public package(set) var groupSizes = GroupSizeCounts()
    /// Journal backlog: durable records that queries do not see yet. 0 except under load.
    public package(set) var behind = 0
    /// Journal lag: when the oldest of these records became durable; nil when there are none.
    public package(set) var behindSince: ContinuousClock.Instant?
    /// Why checkpoints fail, so that a write-ahead log grows; nil while they succeed.
    public package(set) var checkpointFailure: StoreFailure?
    /// Why the next start is refused although commits succeed: a file has become a link, or has a name in another folder.
    public package(set) var linked: StoreFailure?

    public init() {}
}

/// A histogram of transactions by their number of batches, as for Prometheus.
public struct GroupSizeCounts: Equatable, Sendable {
    /// Bucket `i` counts values up to `bounds[i]` and above the bound before; the last bucket counts all larger ones.
    public static let bounds: [Int] = (0...8).map { 1 << $0 }

    public private(set) var buckets = [UInt64](repeating: 0, count: bounds.count + 1)

    public init() {}

    package mutating func add(_ batches: Int) {
        buckets[Self.bounds.firstIndex { batches <= $0 } ?? Self.bounds.count] += 1
    }
}

/// A histogram of durations by powers of two, as for Prometheus.
public struct LatencyCounts: Equatable, Sendable {
    /// Bucket `i` counts values up to `bounds[i]` and above the bound before; the last bucket counts all larger ones.
    public static let bounds: [Duration] = (6...24).map { .microseconds(1 << $0) }

    public private(set) var buckets = [UInt64](repeating: 0, count: bounds.count + 1)
    public private(set) var count: UInt64 = 0
    public private(set) var total: Duration = .zero
    public private(set) var longest: Duration = .zero

    public init() {}

    package mutating func add(_ duration: Duration) {
        let bucket = Self.bounds.firstIndex { duration <= $0 } ?? Self.bounds.count
        buckets[bucket] += 1
        count += 1
        total += duration
        longest = max(longest, duration)
    }

    /// The bucket bound below which at least `share` (0…1) of the durations lie, at most twice the true value; nil
    /// without durations.
    public func percentile(_ share: Double) -> Duration? {
        guard count > 0 else { return nil }
        var left = Double(count) * share
        for (bound, bucket) in zip(Self.bounds, buckets) {
            left -= Double(bucket)
            if left <= 0 { return min(bound, longest) }
        }
        return longest
    }
}
