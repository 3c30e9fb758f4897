import CallVocabulary

/// A histogram of durations with fixed buckets, which can be summed over pools.
public struct LatencyHistogram: Equatable, Sendable {
    /// The inclusive upper bounds of the buckets, in milliseconds; the last bucket has none.
    public static let bounds: [Int64] = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]

    /// One count for each bound and one above the last; not cumulative.
    public private(set) var counts = [UInt64](repeating: 0, count: bounds.count + 1)
    private var totalMilliseconds: Int64 = 0

    public init() {}

    /// The sum of all observations, each in whole milliseconds.
    public var total: Duration { .milliseconds(totalMilliseconds) }
    /// The number of observations.
    public var count: UInt64 { counts.reduce(0, +) }

    /// Cumulative counts, as Prometheus expects them; the bound of the last is nil.
    public var cumulative: [(bound: Int64?, count: UInt64)] {
        var sum: UInt64 = 0
        return counts.indices.map { index in
            sum += counts[index]
            return (index < Self.bounds.count ? Self.bounds[index] : nil, sum)
        }
    }

    /// An upper bound of the quantile `share` (0…1); nil when there is no observation, or it lies above all bounds.
    public func quantile(_ share: Double) -> Duration? {
        let wanted = max(1, share * Double(count))
        return cumulative.first { Double($0.count) >= wanted }?.bound.map { .milliseconds($0) }
    }

    /// Adds the observations of another pool.
    public mutating func add(_ other: LatencyHistogram) {
        for index in counts.indices { counts[index] += other.counts[index] }
        totalMilliseconds += other.totalMilliseconds
    }

    public mutating func observe(milliseconds: Int64) {
        var bucket = 0
        while bucket < Self.bounds.count, Self.bounds[bucket] < milliseconds { bucket += 1 }
        counts[bucket] += 1
        totalMilliseconds += milliseconds
    }
}
