import Histogram

/// Durations as they come in, in microseconds, kept to three digits.
struct Latencies: Sendable {
    private var histogram: Histogram<UInt32>
    /// Beside the histogram, whose sums and ends are those of its buckets.
    private var sum = 0.0
    private var smallest = UInt64.max
    private var largest: UInt64 = 0

    init() {
        // Grows when something takes longer; that costs a copy, so the first range holds a minute.
        histogram = Histogram(
            lowestDiscernibleValue: 1, highestTrackableValue: 60_000_000, numberOfSignificantValueDigits: .three)
        histogram.autoResize = true
    }

    var count: Int { Int(clamping: histogram.totalCount) }

    mutating func record(_ duration: Duration) { record(microseconds: duration.microseconds) }

    mutating func record(microseconds: UInt64) {
        // Cannot be out of range: the histogram grows.
        _ = histogram.record(microseconds)
        sum += Double(microseconds)
        smallest = min(smallest, microseconds)
        largest = max(largest, microseconds)
    }

    mutating func add(_ other: Latencies) {
        histogram.add(other.histogram)
        sum += other.sum
        smallest = min(smallest, other.smallest)
        largest = max(largest, other.largest)
    }

    /// The least time that `percentile` (0 to 100) of all stayed within, to three digits; 0 when there are none.
    func percentile(_ percentile: Double) -> UInt64 {
        count == 0 ? 0 : min(histogram.valueAtPercentile(percentile), largest)
    }

    func report(_ stage: LoadStage) -> StageReport {
        StageReport(
            key: stage.key, definition: stage.definition, count: count, mean: count == 0 ? 0 : sum / Double(count),
            min: count == 0 ? 0 : smallest, p50: percentile(50), p90: percentile(90), p99: percentile(99),
            p999: percentile(99.9), max: largest, distribution: distribution)
    }

    /// Closer the nearer to 100, as plots of a tail want it.
    private var distribution: [StageReport.Point] {
        guard count > 0 else { return [] }
        return histogram.percentiles(ticksPerHalfDistance: 5).map {
            StageReport.Point(percentile: $0.percentile, microseconds: Swift.min($0.value, largest))
        }
    }
}
