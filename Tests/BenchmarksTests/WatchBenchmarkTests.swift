import Testing

@testable import Benchmarks

@Suite(.serialized) struct WatchBenchmarkTests {
    @Test("a small run sees its calls, and has figures of both threads", .timeLimit(.minutes(2)))
    func small() async throws {
        var benchmark = WatchBenchmark(liveCalls: 300, rounds: 2)
        benchmark.pairs = 2
        benchmark.pace = .milliseconds(50)
        benchmark.window = .milliseconds(500)
        var seen = 0
        let comparison = try await benchmark.run { _ in seen += 1 }
        #expect(seen == 2 && comparison.rounds.count == 2)
        for round in comparison.rounds {
            #expect(round.coreAlone > 0 && round.coreWatched > 0)
            #expect(round.adminAlone > 0 && round.adminWatched > 0)
            // Each call is told at least once, but for the last of each pair, and the live ones are not told again.
            #expect(round.views + 2 * benchmark.pairs >= round.callsWatched)
            #expect(round.views < 20 * (round.callsWatched + 2))
        }
    }

    @Test("the median of the rounds decides")
    func verdict() {
        func comparison(_ costs: [Double]) -> WatchComparison {
            var comparison = WatchComparison(liveCalls: 1)
            comparison.rounds = costs.map {
                WatchComparison.Round(
                    coreAlone: 0.1, coreWatched: 0.1 + $0, adminAlone: 0, adminWatched: 0.1, callsAlone: 1,
                    callsWatched: 1, views: 1, secondsWatched: 1)
            }
            return comparison
        }
        #expect(comparison([0.009, 0.002, 0.5]).isWithinLimit)
        #expect(!comparison([0.011, 0.002, 0.5]).isWithinLimit)
        #expect(comparison([0.02]).text.hasSuffix("NOT reached: 1 % and more"))
    }
}
