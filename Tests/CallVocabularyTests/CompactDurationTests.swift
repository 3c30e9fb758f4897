import Testing

@testable import CallVocabulary

struct CompactDurationTests {
    @Test("whole milliseconds up to 49 days are kept, and others become the nearest of them")
    func values() {
        let kept: [Duration?] = [
            nil, .zero, .milliseconds(1), .seconds(600), .seconds(604_800), .milliseconds(UInt32.max - 1),
        ]
        for duration in kept { #expect(CompactDuration(duration).duration == duration) }
        let others: [(Duration, Duration)] = [
            (.seconds(-1), .zero), (.seconds(Int64.min), .zero), (.microseconds(1500), .milliseconds(1)),
            (.milliseconds(UInt32.max), .milliseconds(UInt32.max - 1)),
            (.seconds(Int64.max / 2), .milliseconds(UInt32.max - 1)),
        ]
        for (given, nearest) in others { #expect(CompactDuration(given).duration == nearest) }
        #expect(MemoryLayout<CompactDuration>.size == 4)
    }
}
