import Foundation
import Testing

@testable import Benchmarks

@Suite struct PushComparisonTests {
    private func sample(rate: Double, cpuMicroseconds: Double) -> Sample {
        Sample(
            count: 1000, seconds: 1000 / rate, userSeconds: cpuMicroseconds / 1000 * 0.75,
            systemSeconds: cpuMicroseconds / 1000 * 0.25)
    }

    private func comparison(rates: [Double], cpu: [Double]) -> PushComparison {
        PushComparison(
            work: PushWork.Size(pushes: 1000),
            samples: [
                .h2load: rates.map { _ in sample(rate: 50_000, cpuMicroseconds: 8) },
                .pushClient: zip(rates, cpu).map { sample(rate: $0, cpuMicroseconds: $1) },
                // Far outside the limits, which are not for it.
                .connections: rates.map { _ in sample(rate: 40_000, cpuMicroseconds: 99) },
            ])
    }

    @Test("just within both limits is enough")
    func withinTheLimits() {
        let result = comparison(rates: [35_001], cpu: [15.99])
        #expect(result.failures.isEmpty, "\(result.failures)")
        #expect(result.text.hasSuffix("\nreached"))
    }

    @Test("a rate below 0.7 of h2load's fails, whatever the CPU")
    func slow() {
        let result = comparison(rates: [34_900], cpu: [1])
        #expect(result.failures.count == 1)
        #expect(result.failures.first?.hasPrefix("the rate is 0.70 of h2load's") == true, "\(result.failures)")
        #expect(result.text.contains("\nNOT reached: the rate"))
    }

    @Test("more than twice h2load's CPU for a push fails, whatever the rate")
    func costly() {
        let result = comparison(rates: [90_000], cpu: [16.1])
        #expect(result.failures.map { $0.prefix(27) } == ["a push takes 2.01 times h2l"])
    }

    @Test("the median of the rounds decides, not the worst and not the mean")
    func medians() throws {
        let result = comparison(rates: [1000, 36_000, 37_000], cpu: [900, 12, 10])
        #expect(result.failures.isEmpty, "\(result.failures)")
        #expect(abs(result.rateRatio.median - 0.72) < 0.001)
        #expect(abs(result.rateRatio.min - 0.02) < 0.001 && abs(result.rateRatio.max - 0.74) < 0.001)
        #expect(abs(result.cpuRatio.median - 1.5) < 0.001)
        #expect(Spread([4, 1, 3, 2]).median == 2.5)
    }

    @Test("the JSON has what the text has")
    func json() throws {
        let result = comparison(rates: [40_000], cpu: [10])
        let read = try JSONDecoder().decode(PushComparison.self, from: try JSONEncoder().encode(result))
        #expect(read.rateRatio == result.rateRatio && read.cpuRatio == result.cpuRatio)
        #expect(read.pushClient.samples == result.pushClient.samples)
        #expect(read.work == result.work)
        #expect(read.failures == result.failures)
    }

    @Test(
        "h2load's time is read in each of its units",
        arguments: [("1.25s", 1.25), ("823.42ms", 0.82342), ("950us", 0.00095)])
    func units(word: String, seconds: Double) throws {
        let text = "progress: 100% done\n\nfinished in \(word), 48045.78 req/s, 1.24MB/s\nrequests: 4 total\n"
        let read = try #require(H2Load.seconds(in: text))
        #expect(abs(read - seconds) < 1e-9)
        #expect(H2Load.seconds(in: "no such line") == nil)
    }
}
