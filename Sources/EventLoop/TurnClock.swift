import CLibUV
import Synchronization

/// Measures a loop's turns with two clock reads a turn and no lock. Written on the loop's thread, read on any.
final class TurnClock: Sendable {
    /// When the turn began, in nanoseconds; 0 while the loop waits.
    private let began = Atomic<UInt64>(0)
    /// The duration of the last turn, in nanoseconds.
    private let last = Atomic<UInt64>(0)
    // There is one writer, so a load and a store suffice for an addition.
    private let busy = Atomic<UInt64>(0)
    private let turns = InlineArray<6, Atomic<UInt64>> { _ in Atomic(0) }

    private static let bounds = LoopStatistics.bounds.map { UInt64($0 / .nanoseconds(1)) }

    var isRunning: Bool { began.load(ordering: .relaxed) != 0 }

    func begin() { began.store(uv_hrtime(), ordering: .relaxed) }

    func end() {
        let time = uv_hrtime() - began.load(ordering: .relaxed)
        began.store(0, ordering: .relaxed)
        last.store(time, ordering: .relaxed)
        busy.store(busy.load(ordering: .relaxed) &+ time, ordering: .relaxed)
        let bucket = Self.bounds.firstIndex { time <= $0 } ?? Self.bounds.count
        turns[bucket].store(turns[bucket].load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    var load: LoopLoad {
        let began = began.load(ordering: .relaxed)
        let now = uv_hrtime()
        var count: UInt64 = 0
        for bucket in turns.indices { count &+= turns[bucket].load(ordering: .relaxed) }
        return LoopLoad(
            // On another thread the turn may have begun after the clock was read.
            turn: began == 0 || began > now ? .zero : .nanoseconds(Int64(now - began)),
            lastTurn: .nanoseconds(Int64(last.load(ordering: .relaxed))), turns: count)
    }

    /// Covers completed turns.
    var statistics: LoopStatistics {
        LoopStatistics(
            busy: .nanoseconds(Int64(busy.load(ordering: .relaxed))),
            turns: turns.indices.map { turns[$0].load(ordering: .relaxed) })
    }
}
