import Foundation
import Testing

@testable import Benchmarks

@Suite(.serialized) struct PushBenchmarkTests {
    @Test(
        "each contender of a small run has every push answered by 200, and figures of its own", .timeLimit(.minutes(2)))
    func small() async throws {
        var benchmark = PushBenchmark(pushes: 400, rounds: 1)
        benchmark.work.tokens = 100
        benchmark.work.streams = 20
        var seen: [String] = []
        let comparison = try await benchmark.run { contender, _ in seen.append(contender) }
        #expect(seen == ["h2load", "push client", "HTTP/2 alone"])
        for contender in [comparison.h2load, comparison.pushClient, comparison.connections] {
            let sample = try #require(contender.samples.first)
            // Those that were under way with the last of the warm-up are not counted.
            #expect(400 - 4 * 20 * 2...400 ~= sample.count, "\(contender.name)")
            #expect(sample.seconds > 0 && sample.cpuMicroseconds > 0, "\(contender.name)")
            #expect(contender.rate.median == sample.rate)
        }
        #expect(comparison.h2load.samples[0].count == 400)
        #expect(comparison.rateRatio.median > 0 && comparison.cpuRatio.median > 0)
    }
}
