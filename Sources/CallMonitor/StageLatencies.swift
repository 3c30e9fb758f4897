import AdminProtocol
import CallVocabulary

/// Latencies of the stages of calls: quantiles of the last minute, and histograms since the start.
///
/// Memory use is constant. The last minute consists of thirteen slices of five seconds, of which the oldest has partly
/// passed. So it covers 60 to 65 seconds.
public struct StageLatencies: Sendable {
    /// The inclusive upper bounds of the histogram's buckets; longer durations have their own bucket.
    public static let bounds: [Duration] = [
        10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000, 120_000, 180_000,
    ].map { .milliseconds($0) }

    /// Counts since the start.
    public struct Histogram: Equatable, Sendable {
        /// The count of durations up to each of ``StageLatencies/bounds``, and last the total.
        public let cumulative: [UInt64]
        public let total: Duration
        public var count: UInt64 { cumulative[cumulative.count - 1] }
    }

    private struct Counts {
        var buckets = [UInt64](repeating: 0, count: bounds.count + 1)
        var total = Duration.zero
    }

    private static let sliceLength: Int64 = 5000
    private static let slices = 13

    private var counts: [CallStage: Counts] = [:]
    /// Indexed by the number of the slice since the epoch, modulo ``slices``.
    private var recent = [Slice](repeating: Slice(), count: slices)

    private struct Slice {
        /// The number of the slice since the epoch.
        var number = Int64.min
        var stages: [CallStage: LogLinearCounts] = [:]
    }

    public init() {}

    /// - Parameter duration: negative values count as zero; the clocks of two processes may cause them.
    public mutating func record(_ stage: CallStage, _ duration: Duration, now: Instant) {
        let duration = max(.zero, duration)
        let bucket = Self.bounds.firstIndex { duration <= $0 } ?? Self.bounds.count
        counts[stage, default: Counts()].buckets[bucket] += 1
        counts[stage]?.total += duration

        let number = Self.slice(of: now)
        let index = Int(number % Int64(Self.slices))
        // An older slice number is impossible: the server's clock never goes back.
        if recent[index].number < number { recent[index] = Slice(number: number) }
        recent[index].stages[stage, default: LogLinearCounts()].add(milliseconds: duration.wholeMilliseconds)
    }

    /// Stages with at least one measurement, in the order of `CallStage`.
    public func lastMinute(now: Instant) -> [StatsView.Stage] {
        let oldest = Self.slice(of: now) - Int64(Self.slices) + 1
        let slices = recent.filter { $0.number >= oldest }
        return CallStage.allCases.compactMap { stage in
            var sum = LogLinearCounts()
            for slice in slices {
                if let counts = slice.stages[stage] { sum.add(counts) }
            }
            guard sum.count > 0 else { return nil }
            var view = StatsView.Stage(
                stage: stage, count: sum.count, p50Milliseconds: Double(sum.quantile(0.5)),
                p95Milliseconds: Double(sum.quantile(0.95)), p99Milliseconds: Double(sum.quantile(0.99)),
                maxMilliseconds: Double(sum.longest))
            view.boundsMilliseconds = Self.bounds.map { Int($0.wholeMilliseconds) }
            view.buckets = counts[stage]?.buckets.map { Int(clamping: $0) }
            return view
        }
    }

    /// Counts since the start. Every stage has a histogram, possibly empty.
    public func histogram(of stage: CallStage) -> Histogram {
        let counts = counts[stage] ?? Counts()
        var sum: UInt64 = 0
        let cumulative = counts.buckets.map { count in
            sum += count
            return sum
        }
        return Histogram(cumulative: cumulative, total: counts.total)
    }

    private static func slice(of now: Instant) -> Int64 { max(0, now.milliseconds) / sliceLength }
}

/// Counts of whole milliseconds: exact up to 31, with an error of at most a sixteenth above.
struct LogLinearCounts: Sendable {
    /// The first value that is not exact; from here on each doubling has sixteen buckets.
    private static let exact: Int64 = 32
    private static let doublings = 16
    private static let size = Int(exact) + 16 * doublings

    /// Grows to the largest bucket in use.
    private var buckets: [UInt32] = []
    private(set) var count = 0
    /// In milliseconds.
    private(set) var longest: Int64 = 0

    mutating func add(milliseconds: Int64) {
        let bucket = Self.bucket(of: milliseconds)
        if bucket >= buckets.count { buckets += [UInt32](repeating: 0, count: bucket + 1 - buckets.count) }
        buckets[bucket] &+= 1
        count += 1
        longest = max(longest, milliseconds)
    }

    mutating func add(_ other: LogLinearCounts) {
        if other.buckets.count > buckets.count {
            buckets += [UInt32](repeating: 0, count: other.buckets.count - buckets.count)
        }
        for (index, count) in other.buckets.enumerated() { buckets[index] &+= count }
        count += other.count
        longest = max(longest, other.longest)
    }

    /// An upper bound of the duration of the fastest `share` (0…1), in milliseconds; never above the longest.
    func quantile(_ share: Double) -> Int64 {
        var left = (share * Double(count)).rounded(.up)
        for (bucket, count) in buckets.enumerated() {
            left -= Double(count)
            // The last bucket has no upper bound.
            if left <= 0, bucket < Self.size - 1 { return min(longest, Self.upperBound(of: bucket)) }
        }
        return longest
    }

    private static func bucket(of milliseconds: Int64) -> Int {
        guard milliseconds >= exact else { return Int(max(0, milliseconds)) }
        let doubling = 63 - 5 - milliseconds.leadingZeroBitCount
        // The four bits below the highest one.
        let part = Int(milliseconds >> Int64(doubling + 1)) & 15
        return min(size - 1, Int(exact) + 16 * doubling + part)
    }

    private static func upperBound(of bucket: Int) -> Int64 {
        guard bucket >= Int(exact) else { return Int64(bucket) }
        let (doubling, part) = (bucket - Int(exact)).quotientAndRemainder(dividingBy: 16)
        return (Int64(16 + part + 1) << Int64(doubling + 1)) - 1
    }
}
