import Determinism
import Testing

@testable import LoadTest

@Suite("Latencies") struct LatenciesTests {
    /// From a few microseconds to some seconds, with a long tail.
    private func values(_ count: Int, seed: UInt64) -> [UInt64] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in
            let magnitude = UInt64.random(in: 1...22, using: &generator)
            return UInt64.random(in: 0..<(1 << magnitude), using: &generator)
        }
    }

    private func latencies(_ values: [UInt64]) -> Latencies {
        var latencies = Latencies()
        for value in values { latencies.record(.microseconds(Int64(value))) }
        return latencies
    }

    @Test("have the percentiles of all that was recorded, to three digits")
    func percentiles() {
        let all = values(20_000, seed: 3)
        let report = latencies(all).report(.open)
        let sorted = all.sorted()
        for (percentile, found) in [(50.0, report.p50), (90, report.p90), (99, report.p99), (99.9, report.p999)] {
            let exact = Double(sorted[Int((percentile / 100 * Double(sorted.count)).rounded(.up)) - 1])
            #expect(abs(Double(found) - exact) <= 1 + exact / 500, "\(percentile)")
        }
        #expect(report.count == all.count)
        #expect(report.min == sorted.first)
        #expect(report.max == sorted.last)
        #expect(abs(report.mean - Double(all.reduce(0, +)) / Double(all.count)) < 0.001)
    }

    @Test("of two threads are those of both")
    func merged() {
        let (one, other) = (values(3000, seed: 4), values(500, seed: 5))
        var merged = latencies(one)
        merged.add(latencies(other))
        let report = merged.report(.open)
        let together = latencies(one + other).report(.open)
        #expect(report.count == 3500)
        #expect(
            [report.min, report.p50, report.p90, report.p99, report.p999, report.max]
                == [together.min, together.p50, together.p90, together.p99, together.p999, together.max])
    }

    @Test("keep what takes longer than anybody waits")
    func huge() {
        var latencies = Latencies()
        latencies.record(.seconds(1000))
        latencies.record(.milliseconds(1))
        #expect(latencies.count == 2)
        #expect(latencies.percentile(100) == 1_000_000_000)
        #expect(latencies.percentile(50) == 1000)
    }

    @Test("have a distribution that rises to the largest")
    func distribution() throws {
        let report = latencies(values(5000, seed: 6)).report(.open)
        #expect(
            zip(report.distribution, report.distribution.dropFirst()).allSatisfy {
                $0.percentile <= $1.percentile && $0.microseconds <= $1.microseconds
            })
        let last = try #require(report.distribution.last)
        #expect(last.percentile == 100)
        #expect(last.microseconds == report.max)
    }

    @Test("of nothing are zero")
    func nothing() {
        let report = Latencies().report(.open)
        #expect(report.count == 0 && report.max == 0 && report.p99 == 0 && report.distribution.isEmpty)
    }
}
