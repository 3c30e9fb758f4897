import Determinism
import Glibc
import Testing

@testable import LoadTest

@Suite("The arrivals of an open loop") struct ArrivalsTests {
    private func arrivals(_ count: Int, rate: Double, ramp: Duration = .zero, seed: UInt64 = 7) -> [Double] {
        var arrivals = Arrivals(rate: rate, ramp: ramp, generator: SeededGenerator(seed: seed))
        return (0..<count).map { _ in arrivals.next().inSeconds }
    }

    @Test("are the same for the same seed and others for another, and never go back")
    func seeded() {
        let first = arrivals(1000, rate: 500)
        #expect(first == arrivals(1000, rate: 500))
        #expect(first != arrivals(1000, rate: 500, seed: 8))
        #expect(zip(first, first.dropFirst()).allSatisfy { $0 <= $1 })
    }

    @Test("come at the rate, with the gaps of a Poisson process")
    func poisson() {
        let times = arrivals(100_000, rate: 2000)
        #expect(abs(times.last! - 50) < 0.5)
        let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
        // Of exponential gaps, one half is shorter than ln 2 of the mean, and their deviation is their mean.
        let short = gaps.count { $0 < log(2) / 2000 }
        #expect(abs(Double(short) / Double(gaps.count) - 0.5) < 0.01)
        let squares = gaps.reduce(0) { $0 + ($1 - 0.0005) * ($1 - 0.0005) }
        #expect(abs((squares / Double(gaps.count)).squareRoot() - 0.0005) < 0.00001)
    }

    @Test("grow steadily in the ramp, and come at the full rate after it")
    func ramp() {
        let times = arrivals(60_000, rate: 1000, ramp: .seconds(20))
        // By the square of the time: a quarter of those of the ramp come in its first half.
        let (half, whole) = (times.count { $0 < 10 }, times.count { $0 < 20 })
        #expect(abs(half - 2500) < 200)
        #expect(abs(whole - 10_000) < 400)
        #expect(abs(times.count { $0 >= 20 && $0 < 60 } - 40_000) < 800)
    }
}
