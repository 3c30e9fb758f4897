import Testing

@testable import LoadTest

@Suite("What was used between two moments") struct CoresUsedTests {
    private static let start = ContinuousClock.now

    private func moment(after seconds: Int, server cpu: Int) -> RunMoment {
        let used = ProcessUsage(residentBytes: 1, cpu: .milliseconds(cpu), descriptors: 1)
        return RunMoment(
            at: Self.start + .seconds(seconds), server: used, simulator: nil, own: used,
            machine: .milliseconds(3 * cpu),
            metrics: nil)
    }

    @Test("is shared out among the pieces whole, however long after the last of them it was looked at")
    func each() {
        let first = moment(after: 0, server: 100)
        let soon = CoresUsed(first, moment(after: 2, server: 1_100))
        let late = CoresUsed(first, moment(after: 4, server: 1_100))
        #expect(soon.server == 0.5 && late.server == 0.25)
        #expect(soon.microseconds(soon.server, each: 2_000) == 500)
        #expect(late.microseconds(late.server, each: 2_000) == 500)
        #expect(late.microseconds(late.server, each: 0) == nil)
        #expect(late.microseconds(late.simulator, each: 10) == nil)
        #expect(soon.others == 0.5)
    }
}
