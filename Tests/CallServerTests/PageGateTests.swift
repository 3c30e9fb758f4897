import EventLoop
import Synchronization
import TestCleanup
import Testing

@testable import CallServer

@Suite("The gate of pages", .cleanup, .timeLimit(.minutes(1)))
struct PageGateTests {
    @Test("serves a burst at once and the rest in order at the rate, refuses what is beyond, and has its burst again")
    func flood() async throws {
        let loop = try EventLoop.started("pages")
        atEnd { await loop.stopAndWait() }
        let gate = try #require(await loop.run { LoopBound(PageGate(loop: loop), on: loop) })
        let all = PageGate.burst + PageGate.mostWaiting
        let served = Mutex<[Int]>([])
        let began = ContinuousClock.now
        let admitted = await loop.run {
            (0..<all + 10).map { number in gate.value.admit { served.withLock { $0.append(number) } } }
        }
        #expect(admitted == Array(repeating: true, count: all) + Array(repeating: false, count: 10))
        #expect(served.withLock { $0 } == Array(0..<PageGate.burst))
        while served.withLock({ $0.count }) < all { try await Task.sleep(for: .milliseconds(5)) }
        #expect(served.withLock { $0 } == Array(0..<all))
        // libuv's milliseconds may be short by one for each of the 200 intervals.
        #expect(began.duration(to: .now) > PageGate.fullAfter * 0.85)

        let filled = Duration.seconds(PageGate.burst) / PageGate.perSecond
        try await Task.sleep(for: filled * 2)
        let again = await loop.run {
            served.withLock { $0 = [] }
            return (0..<PageGate.burst).allSatisfy { number in
                gate.value.admit { served.withLock { $0.append(number) } }
            }
        }
        #expect(again == true && served.withLock { $0.count } == PageGate.burst)
    }
}
