import EventJournal
import TestCleanup
import Testing

@Suite("What tests end") struct CleanupTests {
    private struct Stop: Error {}

    @Test("the steps run after the body, the last first, also when the body throws", arguments: [false, true])
    func order(isThrowing: Bool) async throws {
        let steps = Journal<Int>()
        let result = try? await Cleanup.run {
            for number in 1...3 { atEnd { steps.append(number) } }
            #expect(steps.entries == [])
            if isThrowing { throw Stop() }
            return 7
        }
        #expect(result == (isThrowing ? nil : 7))
        #expect(steps.entries == [3, 2, 1])
    }
}
