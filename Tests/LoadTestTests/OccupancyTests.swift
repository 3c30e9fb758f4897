import Testing

@testable import LoadTest

@Suite("How many pieces are under way") struct OccupancyTests {
    private static let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { Self.start + .milliseconds(milliseconds) }

    @Test("is known on average, over the time that counts, by how long it was so")
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
}
