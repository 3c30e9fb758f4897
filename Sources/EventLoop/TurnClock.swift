import CLibUV
import Synchronization

/// Measures a loop's turns with two clock reads a turn and no lock. Written on the loop's thread, read on any.
final class TurnClock: Sendable {
    /// When the turn began, in nanoseconds; 0 while the loop waits.
    // Proof: used on the loop's thread only, which `EventLoop` ensures.
    private nonisolated(unsafe) var began: UInt64 = 0
    // There is one writer, so a load and a store suffice for an addition.
    private let busy = Atomic<UInt64>(0)
    private let turns = InlineArray<6, Atomic<UInt64>> { _ in Atomic(0) }

    private static let bounds = LoopStatistics.bounds.map { UInt64($0 / .nanoseconds(1)) }

    var isRunning: Bool { began != 0 }

    func begin() { began = uv_hrtime() }

    func end() {
        let time = uv_hrtime() - began
        began = 0
        busy.store(busy.load(ordering: .relaxed) &+ time, ordering: .relaxed)
        let bucket = Self.bounds.firstIndex { time <= $0 } ?? Self.bounds.count
        turns[bucket].store(turns[bucket].load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// Covers completed turns.
    var statistics: LoopStatistics {
        LoopStatistics(
            busy: .nanoseconds(Int64(busy.load(ordering: .relaxed))),
            turns: turns.indices.map { turns[$0].load(ordering: .relaxed) })
    }
}
