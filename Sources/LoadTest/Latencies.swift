import Histogram

/// Durations as they come in, kept to three digits.
struct Latencies {
    private var histogram = Histogram<UInt64>(numberOfSignificantValueDigits: .three)

    var count: Int { Int(clamping: histogram.totalCount) }

    mutating func record(_ duration: Duration) {
        // Cannot be out of range: the histogram grows.
        _ = histogram.record(UInt64(max(0, duration.wholeMicroseconds)))
    }

    func summary(_ key: String, _ definition: String) -> LatencySummary {
        LatencySummary(
            key: key, definition: definition, count: count, p50: histogram.valueAtPercentile(50),
            p90: histogram.valueAtPercentile(90), p99: histogram.valueAtPercentile(99),
            p999: histogram.valueAtPercentile(99.9), max: count == 0 ? 0 : histogram.maxRecorded)
    }
}

extension Duration {
    var wholeMicroseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
