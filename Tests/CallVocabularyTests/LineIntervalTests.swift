import CallVocabulary
import Testing

@Suite("Log lines whose number a peer decides")
struct LineIntervalTests {
    @Test("there is one of a kind in ten seconds")
    func interval() {
        var lines = LineInterval<Bool>()
        let times = stride(from: Int64(0), to: 30_000, by: 100).map { Instant(milliseconds: $0) }
        #expect(times.filter { lines.allows(true, at: $0) }.map(\.milliseconds) == [0, 10_000, 20_000])
        let isAllowed = lines.allows(false, at: Instant(milliseconds: 29_900))
        #expect(isAllowed)
    }
}
