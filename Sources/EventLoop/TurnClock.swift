import CLibUV
import Synchronization

/// Measures a loop's turns. Its clock is read twice a turn, and nothing is locked. Written on the loop's thread, read
/// anywhere.
final class TurnClock: Sendable {
    /// When the turn began, in nanoseconds; 0 while the loop waits.
    // Proof: touched on the loop's thread only, which `EventLoop` sees to.
    private nonisolated(unsafe) var began: UInt64 = 0
    // One thread writes them, so that a load and a store do for an addition.
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

    /// Of the turns that have ended.
    var statistics: LoopStatistics {
        LoopStatistics(
            busy: .nanoseconds(Int64(busy.load(ordering: .relaxed))),
            turns: turns.indices.map { turns[$0].load(ordering: .relaxed) })
    }
}
