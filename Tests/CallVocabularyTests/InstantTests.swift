import CallVocabulary
import Testing

@Suite struct InstantTests {
    @Test(
        "whole seconds round down, before the epoch too",
        arguments: [
            (0, 0), (999, 0), (1_000, 1), (1_999, 1), (-1, -1), (-1_000, -1), (-1_001, -2),
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

    @Test(
        "whole milliseconds round down, below zero too",
        arguments: [(0, 0), (1, 0), (999_999, 0), (1_000_000, 1), (-1, -1), (-1_000_000, -1), (-1_000_001, -2)]
            as [(Int64, Int64)])
    func wholeMilliseconds(nanoseconds: Int64, milliseconds: Int64) {
        #expect(Duration.nanoseconds(nanoseconds).wholeMilliseconds == milliseconds)
        #expect(Duration.seconds(40_000_000_000).wholeMilliseconds == 40_000_000_000_000)
    }
}
