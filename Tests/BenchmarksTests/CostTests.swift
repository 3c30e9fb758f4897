import Foundation
import Testing

@testable import Benchmarks

@Suite struct CostTests {
    @Test("each request for memory counts once, wherever it comes from, and work without one counts none")
    func allocations() {
        var cost = Cost()
        var kept: [[Int]] = []
        kept.reserveCapacity(10)
        // Swift's own library, which is shared, asks for the memory of arrays.
        cost.add(10) { for index in 0..<10 { kept.append([Int](repeating: index, count: 100)) } }
        #expect(cost.allocations == 10 && cost.allocationsEach == 1)
        func change() { for index in kept.indices { kept[index][7] += 1 } }
        // Types are made up the first time they are met, which takes memory.
        change()
        cost.add(0) { change() }
        #expect(cost.allocations == 10)
        var memory: UnsafeMutableRawPointer?
        cost.add(0) {
            free(malloc(10))
            free(calloc(2, 10))
            free(realloc(nil, 10))
            free(aligned_alloc(64, 128))
            if posix_memalign(&memory, 64, 100) == 0 { free(memory) }
        }
        #expect(cost.allocations == 15)
        #expect(UInt(bitPattern: memory).isMultiple(of: 64))
        #expect(posix_memalign(&memory, 24, 100) == EINVAL)
        #expect(cost.operations == 10)
    }

    @Test("memory of 256 bytes or more counts as much, in whatever way it is asked for")
    func large() {
        var cost = Cost()
        for (size, count) in [(255, 0), (256, 4)] {
            cost = Cost()
            cost.add(1) {
                free(malloc(size))
                free(calloc(1, size))
                free(realloc(nil, size))
                free(aligned_alloc(1, size))
            }
            #expect(cost.allocations == 4 && cost.largeAllocations == count)
        }
        cost.add(0) { free(calloc(64, 4)) }
        #expect(cost.largeAllocations == 5)
    }

    @Test("memory that another thread asks for is not counted")
    func otherThreads() async {
        var cost = Cost()
        await withCheckedContinuation { continuation in
            let thread = Thread {
                for size in 1...100 { free(malloc(size)) }
                continuation.resume()
            }
            cost.add(1) { thread.start() }
        }
        #expect(cost.allocations < 100)
    }

    @Test("work is done once to warm up, and then until it has taken long enough, or the time for it is up")
    func repeats() {
        var pieces = 0
        let once = Cost.measure(for: 0) { cost in
            pieces += 1
            cost.add(3) {}
        }
        #expect(pieces == 2 && once.operations == 3)
        let began = ContinuousClock.now
        var longer = Cost.measure(for: 0.02) { cost in
            cost.add(1) { _ = ReferenceLoop.byteLoopCost(over: [1, 2, 3], for: 0) }
        }
        // A thread that does not get a processor for most of the time is given up on.
        let isGivenUp = ContinuousClock.now - began >= .seconds(0.08)
        #expect(longer.seconds >= 0.02 && longer.operations > 1 || isGivenUp)
        longer.add(1) {}
        #expect(longer.nanosecondsEach > 0)
    }

    @Test("the byte loop is FNV-1a")
    func fnv() {
        let hash = Array("foobar".utf8).withUnsafeBytes { ReferenceLoop.fnv1a(0xCBF2_9CE4_8422_2325, $0) }
        #expect(hash == 0x8594_4171_F739_67E8)
    }
}
