import CAllocations

/// What some work has cost the thread that did it.
struct Cost {
    /// More often a piece of work is not repeated, however little of it is measured.
    private static let mostPieces = 1_000_000

    private(set) var operations = 0
    /// CPU time.
    private(set) var seconds = 0.0
    /// How often memory was asked for from the heap; 0 in a build with a sanitizer.
    private(set) var allocations: UInt = 0
    /// How often it was much memory, `LARGE_ALLOCATION` bytes or more: a build without optimisation asks for a little now
    /// and then where others ask for none.
    private(set) var largeAllocations: UInt = 0

    var nanosecondsEach: Double { seconds * 1_000_000_000 / Double(operations) }
    var allocationsEach: Double { Double(allocations) / Double(operations) }

    /// Adds what `body` costs, which does so many operations.
    mutating func add(_ operations: Int, _ body: () throws -> Void) rethrows {
        let before = (allocations_of_this_thread(), large_allocations_of_this_thread(), OwnUsage.threadSeconds)
        try body()
        seconds += OwnUsage.threadSeconds - before.2
        allocations += allocations_of_this_thread() - before.0
        largeAllocations += large_allocations_of_this_thread() - before.1
        self.operations += operations
    }

    /// Has `piece` add to what is measured until that has taken so many seconds, or four times as many have gone by with
    /// what it does beside it. Does it once before that, uncounted, for what is only slow the first time.
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
