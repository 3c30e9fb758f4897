import AdminProtocol
import CallVocabulary

/// How long the stages of calls took: the quantiles of the last minute, and counts since the start in fixed buckets.
///
/// It takes the same memory however much it is told. The last minute is thirteen slices of five seconds, the oldest of
/// which has partly passed: it is a minute to a minute and five seconds.
public struct StageLatencies: Sendable {
    /// The upper bounds of the buckets since the start, each included; what took longer has a bucket of its own.
    public static let bounds: [Duration] = [
        10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000, 120_000, 180_000,
    ].map { .milliseconds($0) }

    /// Counts since the start.
    public struct Histogram: Equatable, Sendable {
        /// Of what took no longer than each of ``StageLatencies/bounds``, and last of all.
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
    /// By the number of the slice since the epoch, modulo ``slices``.
    private var recent = [Slice](repeating: Slice(), count: slices)

    private struct Slice {
        /// Since the epoch.
        var number = Int64.min
        var stages: [CallStage: LogLinearCounts] = [:]
    }

    public init() {}

    /// - Parameter duration: counts as zero when it is below, which clocks of two processes may make it.
    public mutating func record(_ stage: CallStage, _ duration: Duration, now: Instant) {
        let duration = max(.zero, duration)
        let bucket = Self.bounds.firstIndex { duration <= $0 } ?? Self.bounds.count
        counts[stage, default: Counts()].buckets[bucket] += 1
        counts[stage]?.total += duration

        let number = Self.slice(of: now)
        let index = Int(number % Int64(Self.slices))
        // A time before the slice's own would be a clock that goes back, which the server's does not.
        if recent[index].number < number { recent[index] = Slice(number: number) }
        recent[index].stages[stage, default: LogLinearCounts()].add(milliseconds: duration.wholeMilliseconds)
    }

    /// The stages that were passed, in the order of `CallStage`.
    public func lastMinute(now: Instant) -> [StatsView.Stage] {
        let oldest = Self.slice(of: now) - Int64(Self.slices) + 1
        let slices = recent.filter { $0.number >= oldest }
        return CallStage.allCases.compactMap { stage in
            var sum = LogLinearCounts()
            for slice in slices {
                if let counts = slice.stages[stage] { sum.add(counts) }
            }
            guard sum.count > 0 else { return nil }
            return StatsView.Stage(
                stage: stage, count: sum.count, p50Milliseconds: Double(sum.quantile(0.5)),
                p95Milliseconds: Double(sum.quantile(0.95)), p99Milliseconds: Double(sum.quantile(0.99)),
                maxMilliseconds: Double(sum.longest))
        }
    }

    /// Since the start. All stages have one, also those that nothing has passed.
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

/// Counts of whole milliseconds, exact up to 31 and within a sixteenth above.
struct LogLinearCounts: Sendable {
    /// Sixteen buckets for each doubling, from 32 on.
    private static let exact: Int64 = 32
    private static let doublings = 16
    private static let size = Int(exact) + 16 * doublings

    /// Grows to what is used.
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

    /// An upper bound of what the fastest `share` (0…1) took, in milliseconds; never above the longest.
    func quantile(_ share: Double) -> Int64 {
        var left = (share * Double(count)).rounded(.up)
        for (bucket, count) in buckets.enumerated() {
            left -= Double(count)
            // The last bucket has no bound.
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
