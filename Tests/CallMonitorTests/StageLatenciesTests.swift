import AdminProtocol
import CallVocabulary
import Testing

@testable import CallMonitor

@Suite("Stage latencies")
struct StageLatenciesTests {
    private static let start = Instant(milliseconds: 1_772_353_800_000)

    @Test("quantiles of a known distribution are right within a sixteenth, the longest exactly")
    func quantiles() throws {
        var latencies = StageLatencies()
        for milliseconds in 1...1000 {
            latencies.record(.inviteToRinging, .milliseconds(milliseconds), now: Self.start)
        }
        let stage = try #require(latencies.lastMinute(now: Self.start).first)
        #expect(stage.stage == .inviteToRinging && stage.count == 1000 && stage.maxMilliseconds == 1000)
        #expect((500...532).contains(stage.p50Milliseconds))
        #expect((950...1000).contains(stage.p95Milliseconds))
        #expect((990...1000).contains(stage.p99Milliseconds))
    }

    @Test(
        "short times are exact, and one alone is all of its quantiles",
        arguments: [0, 1, 31, 32, 33, 4711, 100_000_000])
    func one(milliseconds: Int64) throws {
        var latencies = StageLatencies()
        latencies.record(.pushSentToReported, .milliseconds(milliseconds), now: Self.start)
        let stage = try #require(latencies.lastMinute(now: Self.start).first)
        let value = Double(milliseconds)
        #expect(stage.p50Milliseconds == value && stage.p99Milliseconds == value && stage.maxMilliseconds == value)
    }

    @Test("each bucket's upper bound is at most a sixteenth above what is in it, and quantiles never go down")
    func error() throws {
        var last = 0.0
        for milliseconds in stride(from: Int64(1), to: 1_000_000, by: 997) {
            var latencies = StageLatencies()
            latencies.record(.answerToConnected, .milliseconds(milliseconds), now: Self.start)
            latencies.record(.answerToConnected, .milliseconds(2_000_000), now: Self.start)
            let p50 = try #require(latencies.lastMinute(now: Self.start).first).p50Milliseconds
            #expect(p50 >= Double(milliseconds) && p50 <= Double(milliseconds) * 17 / 16 && p50 >= last)
            last = p50
        }
    }

    @Test("after a minute and a slice nothing is left of it but the counts since the start")
    func rolling() {
        var latencies = StageLatencies()
        latencies.record(.inviteToRinging, .milliseconds(10), now: Self.start)
        latencies.record(.inviteToRinging, .milliseconds(20), now: Self.start + .seconds(30))
        func count(_ seconds: Int) -> Int? { latencies.lastMinute(now: Self.start + .seconds(seconds)).first?.count }
        #expect(count(0) == 2)
        #expect(count(59) == 2)
        #expect(count(66) == 1)
        #expect(count(96) == nil)
        #expect(count(100_000) == nil)
        // The slices are used again, each for its own time only.
        latencies.record(.inviteToRinging, .milliseconds(30), now: Self.start + .seconds(65))
        #expect(count(66) == 2)
        #expect(latencies.histogram(of: .inviteToRinging).count == 3)
        let view = latencies.lastMinute(now: Self.start + .seconds(66)).first
        #expect(view?.boundsMilliseconds?.prefix(3) == [10, 25, 50])
        #expect(view?.buckets?.prefix(3) == [1, 1, 1] && view?.buckets?.count == 18)
    }

    @Test(
        "counts since the start are cumulative, a bound is in its own bucket, and what is over all bounds is in the last"
    )
    func histogram() {
        var latencies = StageLatencies()
        let times: [Duration] = [
            .milliseconds(-5), .milliseconds(10), .milliseconds(11), .seconds(180), .seconds(181),
        ]
        for time in times { latencies.record(.ringingToAnswer, time, now: Self.start) }
        let histogram = latencies.histogram(of: .ringingToAnswer)
        #expect(histogram.cumulative.count == StageLatencies.bounds.count + 1)
        #expect(histogram.cumulative.prefix(3) == [2, 3, 3])
        #expect(histogram.cumulative.suffix(3) == [3, 4, 5])
        #expect(histogram.count == 5 && histogram.total == .milliseconds(361_021))
        #expect(latencies.histogram(of: .pushSentToWoken).count == 0)
        #expect(latencies.histogram(of: .pushSentToWoken).cumulative.allSatisfy { $0 == 0 })
    }

    @Test("stages are told apart and come in their own order")
    func stages() {
        var latencies = StageLatencies()
        for stage in CallStage.allCases.reversed() { latencies.record(stage, .milliseconds(1), now: Self.start) }
        latencies.record(.inviteToRinging, .milliseconds(9), now: Self.start)
        let stages = latencies.lastMinute(now: Self.start)
        #expect(stages.map(\.stage) == CallStage.allCases)
        #expect(stages.map(\.count) == [2, 1, 1, 1, 1, 1, 1])
    }
}
