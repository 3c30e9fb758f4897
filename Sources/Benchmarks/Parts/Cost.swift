import CAllocations

/// The cost of some work on its thread.
struct Cost {
    /// The most repetitions of a piece, however short.
    private static let mostPieces = 1_000_000

    private(set) var operations = 0
    /// CPU time.
    private(set) var seconds = 0.0
    /// The number of heap allocations; 0 in a build with a sanitizer.
    private(set) var allocations: UInt = 0
    /// The number of allocations of at least `LARGE_ALLOCATION` bytes. A build without optimisation makes additional
    /// small ones.
    private(set) var largeAllocations: UInt = 0

    var nanosecondsEach: Double { seconds * 1_000_000_000 / Double(operations) }
    var allocationsEach: Double { Double(allocations) / Double(operations) }

    /// Runs `body` and adds its cost as that of `operations`.
    mutating func add(_ operations: Int, _ body: () throws -> Void) rethrows {
        let before = (allocations_of_this_thread(), large_allocations_of_this_thread(), OwnUsage.threadSeconds)
        try body()
        seconds += OwnUsage.threadSeconds - before.2
        allocations += allocations_of_this_thread() - before.0
        largeAllocations += large_allocations_of_this_thread() - before.1
        self.operations += operations
    }

    /// Repeats `piece` until its measured work takes `seconds` of CPU time, or four times that of wall-clock time. Runs
    /// it once before, uncounted, as a warm-up.
    static func measure(for seconds: Double, _ piece: (inout Cost) throws -> Void) rethrows -> Cost {
        var (warmUp, cost) = (Cost(), Cost())
        try piece(&warmUp)
        let began = ContinuousClock.now
        for _ in 0..<mostPieces {
            try piece(&cost)
            if cost.seconds >= seconds || (ContinuousClock.now - began) / .seconds(1) >= 4 * seconds { break }
        }
        return cost
    }
}
