import CallVocabulary
import Testing

@Suite struct InstantTests {
    @Test(
        "whole seconds round down, before the epoch too",
        arguments: [
            (0, 0), (999, 0), (1_000, 1), (1_999, 1), (-1, -1), (-1_000, -1), (-1_001, -2),
            (.max, 9_223_372_036_854_775), (.min, -9_223_372_036_854_776),
        ] as [(Int64, Int64)])
    func wholeSeconds(milliseconds: Int64, seconds: Int64) {
        #expect(Instant(milliseconds: milliseconds).wholeSeconds == seconds)
    }

    @Test("a duration added is the duration between", arguments: [0, 1, 999, 45_000, -1, -1_500] as [Int64])
    func arithmetic(milliseconds: Int64) {
        let start = Instant(milliseconds: 1_800_000_000_123)
        let end = start + .milliseconds(milliseconds)
        #expect(end.milliseconds == start.milliseconds + milliseconds)
        #expect(end - start == .milliseconds(milliseconds))
    }

    @Test("sums and differences saturate: a time of others may be any number")
    func saturation() {
        let first = Instant(milliseconds: .min)
        let last = Instant(milliseconds: .max)
        let now = Instant(milliseconds: 1_800_000_000_123)
        let (shortest, longest) = (Duration.milliseconds(Int64.min), Duration.milliseconds(Int64.max))
        #expect(last + .milliseconds(1) == last)
        #expect(last + .seconds(86_400) == last)
        #expect(now + longest == last)
        #expect(first + .milliseconds(-1) == first)
        #expect(Instant(milliseconds: -1) + shortest == first)
        #expect(last - first == longest)
        #expect(now - first == longest)
        #expect(first - last == shortest)
        #expect(first - now == shortest)
        #expect((last - first).wholeMilliseconds == .max)
        #expect((first - last).wholeMilliseconds == .min)
    }

    @Test(
        "whole milliseconds round down, below zero too",
        arguments: [(0, 0), (1, 0), (999_999, 0), (1_000_000, 1), (-1, -1), (-1_000_000, -1), (-1_000_001, -2)]
            as [(Int64, Int64)])
    func wholeMilliseconds(nanoseconds: Int64, milliseconds: Int64) {
        #expect(Duration.nanoseconds(nanoseconds).wholeMilliseconds == milliseconds)
        #expect(Duration.seconds(40_000_000_000).wholeMilliseconds == 40_000_000_000_000)
    }
}
