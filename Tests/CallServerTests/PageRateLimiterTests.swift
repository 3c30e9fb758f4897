import Testing

@testable import CallServer

@Suite("The rate limiter of pages")
struct PageRateLimiterTests {
    /// One whose burst is used up, with this many waiting.
    private func busy(waiting: Int) -> PageRateLimiter<Int> {
        var limiter = PageRateLimiter<Int>()
        for number in 0..<PageRates.burst { #expect(limiter.admit(number) == .now) }
        for number in 0..<waiting { #expect(limiter.admit(number) == .later) }
        return limiter
    }

    @Test("a burst is served at once, the rest waits in order, and what is beyond is refused")
    func flood() {
        var limiter = busy(waiting: PageRates.mostWaiting)
        #expect(limiter.admit(0) == .refused)
        var served: [Int] = []
        let intervals = PageRates.mostWaiting / PageRates.perInterval
        for interval in 1...intervals {
            served += limiter.refill { _ in true }
            #expect(served.count == interval * PageRates.perInterval)
        }
        #expect(served == Array(0..<PageRates.mostWaiting))
        #expect(PageRates.interval * intervals == PageRates.retryAfter, "a refused client comes back to an empty line")
    }

    @Test("a request that nobody waits for takes no one's turn")
    func gone() {
        var limiter = busy(waiting: 100)
        #expect(limiter.refill { $0 >= 95 } == [95, 96, 97, 98, 99])
        #expect(limiter.refill { _ in true }.isEmpty)
        #expect(limiter.admit(0) == .now)
    }

    @Test("the burst is available again after as long as the rate needs for it")
    func recovery() {
        var limiter = busy(waiting: 0)
        var intervals = 0
        while !limiter.isFull {
            #expect(limiter.refill { _ in true }.isEmpty)
            intervals += 1
        }
        #expect(intervals == PageRates.burst / PageRates.perInterval)
        #expect(Duration.seconds(1) / PageRates.interval == Double(PageRates.perSecond / PageRates.perInterval))
    }
}
