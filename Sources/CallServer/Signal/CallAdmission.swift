import CallVocabulary
import EventLoop
import Logging

/// Refuses a part of the new calls while the server is overloaded, so that the others, and all answers and hang-ups, are
/// handled in time.
///
/// Requests queue in the kernel, because a busy loop reads no sockets: what arrives during a turn waits until its end. So
/// the delay is measured by the turns of the shard's loop and of the core's. As in CoDel (RFC 8289), a queue that was
/// short within the last ``interval`` absorbs a burst; any other queue is a standing one, which only adds delay. While
/// there is one, each turn accepts a limited number of calls. Longer turns lower that number, and they come less often:
/// the calls accepted in a second follow the server's speed by themselves.
///
/// One for each shard, confined to its loop.
final class CallAdmission {
    /// The longest turn without a standing queue. A request waits for up to two turns.
    static let target = Duration.milliseconds(25)
    /// The time without a short turn after which a queue is a standing one.
    static let interval = Duration.milliseconds(100)
    /// The age of the present turn at which all calls are refused.
    static let burst = Duration.milliseconds(250)
    /// The age of the oldest commit at which all calls are refused: a slow disk delays all replies.
    static let commit = Duration.milliseconds(500)
    /// The fewest calls accepted in a turn: a queue of other requests, such as those of clients that return after a
    /// restart, keeps no call waiting for long.
    static let leastWindow = 8.0
    /// The least factor of one decrease: calls in progress cause work for some turns after fewer are accepted.
    static let leastFactor = 0.8
    /// The factor of one increase.
    static let growth = 1.05
    /// The time without a refusal after which the overload is over.
    static let calm = Duration.seconds(1)
    private static let betweenReports = Duration.seconds(30)

    /// The turns of one loop.
    private struct Turns {
        private var count: UInt64?
        private var seenAt = Instant(milliseconds: 0)
        /// The duration of the last turn, or of several on average.
        private(set) var delay = Duration.zero

        /// - Returns: whether a turn has ended since the last call.
        mutating func note(_ load: LoopLoad, now: Instant) -> Bool {
            guard count != load.turns else { return false }
            if let count {
                let new = Int64(clamping: load.turns &- count)
                delay = new == 1 ? load.lastTurn : min(load.lastTurn, (now - seenAt) / new)
            }
            (count, seenAt) = (load.turns, now)
            return true
        }
    }

    private let clock: ServerClock
    private let counters: SignalCounters
    private let log: Logger
    private let loads: () -> (shard: LoopLoad, core: LoopLoad)
    private let commitWait: () -> Duration?
    private var shard = Turns()
    private var core = Turns()
    /// When the last short turn was seen.
    private var shortAt: Instant
    private var refusedAt: Instant
    /// The calls accepted in a turn of the slower loop; nil without overload.
    private var window: Double?
    /// The calls of the present turn.
    private var accepted = 0
    private var isExhausted = false
    private var lastReport: Instant?
    private var refusedSinceReport = 0

    /// - Parameters:
    ///   - loads: of the shard's loop and of the core's.
    ///   - commitWait: the age of the oldest commit that is not durable yet; nil without one.
    init(
        clock: ServerClock, counters: SignalCounters, log: Logger,
        loads: @escaping () -> (shard: LoopLoad, core: LoopLoad), commitWait: @escaping () -> Duration?
    ) {
        self.clock = clock
        self.counters = counters
        self.log = log
        self.loads = loads
        self.commitWait = commitWait
        shortAt = clock.now()
        refusedAt = shortAt
    }

    /// Decides on a new call.
    /// - Parameter serial: of its connection or request.
    /// - Returns: nil when the call is accepted.
    func refusal(for serial: UInt64) -> SignalError? {
        let now = clock.now()
        let loads = loads()
        let (shardEnded, coreEnded) = (shard.note(loads.shard, now: now), core.note(loads.core, now: now))
        if shard.delay > core.delay ? shardEnded : coreEnded {
            turnEnded(after: max(shard.delay, core.delay), now: now)
        }
        if isLate(loads.shard, loads.core) || window.map({ accepted >= Int($0) }) ?? false {
            return refuse(serial, now: now)
        }
        accepted += 1
        return nil
    }

    private func isLate(_ shard: LoopLoad, _ core: LoopLoad) -> Bool {
        max(shard.turn, core.turn) > Self.burst || commitWait().map { $0 > Self.commit } ?? false
    }

    private func turnEnded(after delay: Duration, now: Instant) {
        defer { (accepted, isExhausted) = (0, false) }
        if delay <= Self.target { shortAt = now }
        guard let window else {
            if now - shortAt > Self.interval { self.window = limited(Double(accepted) * (Self.target / delay)) }
            return
        }
        if now - refusedAt > Self.calm {
            self.window = nil
        } else if delay > Self.target {
            self.window = limited(window * max(Self.leastFactor, Self.target / delay))
        } else if isExhausted {
            self.window = max(window + 1, window * Self.growth)
        }
    }

    private func limited(_ window: Double) -> Double { max(Self.leastWindow, window) }

    private func refuse(_ serial: UInt64, now: Instant) -> SignalError {
        counters.countLateCall()
        (refusedAt, isExhausted) = (now, true)
        report(now: now)
        // Spread, so that the callers do not return all at once.
        return SignalError(
            .overloaded(retryAfter: .milliseconds(1000 + Int64(serial & 1023))),
            "The server is overloaded; call again shortly.")
    }

    private func report(now: Instant) {
        refusedSinceReport += 1
        if let lastReport, now - lastReport < Self.betweenReports { return }
        log.warning(
            "the server is overloaded; new calls are refused",
            metadata: ["times": .stringConvertible(refusedSinceReport)])
        lastReport = now
        refusedSinceReport = 0
    }
}

@available(*, unavailable)
extension CallAdmission: Sendable {}
