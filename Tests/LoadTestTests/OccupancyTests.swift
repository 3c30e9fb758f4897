import Testing

@testable import LoadTest

@Suite("How many operations are under way") struct OccupancyTests {
    private static let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { Self.start + .milliseconds(milliseconds) }

    @Test("is averaged over the measured part by time")
    func mean() {
        var occupancy = Occupancy(start: Self.start)
        occupancy.set(7, at: at(-500))
        #expect(occupancy.mean == 0)
        occupancy.set(10, at: at(-100))
        // 10 for 100 ms, 9 for 100 ms, 10 for 200 ms.
        occupancy.set(9, at: at(100))
        occupancy.set(10, at: at(200))
        occupancy.set(8, at: at(400))
        #expect(abs(occupancy.mean - 9.75) < 1e-9)
        // What comes late is of no time of its own.
        occupancy.set(3, at: at(300))
        #expect(abs(occupancy.mean - 9.75) < 1e-9)
    }

    @Test("has its maximum over all threads at one moment of the measured part")
    func most() {
        let counters = RunCounters()
        counters.underWay(9, isCounted: false)
        #expect(counters.mostUnderWay == 0)
        // What stands from before is under way when the measured part begins.
        counters.underWay(-4, isCounted: true)
        #expect(counters.mostUnderWay == 9)
        // One thread has four more, then another, when the first has none of them any more.
        for change in [4, -4, 5, -5] { counters.underWay(change, isCounted: true) }
        #expect(counters.mostUnderWay == 10)
        counters.underWay(90, isCounted: false)
        #expect(counters.mostUnderWay == 10)
    }
}
