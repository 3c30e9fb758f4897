import CallVocabulary
import EventLoop
import Logging

/// Admission control: refuses some of the new calls while the server is overloaded, so that the others, and all answers
/// and hang-ups, are handled in time.
///
/// A busy loop reads no sockets, so requests that arrive during a turn wait in the kernel until its end. The durations
/// of the turns of the shard's loop and of the core's loop therefore measure the queuing delay. As in CoDel (RFC 8289),
/// a delay that was short within the last ``interval`` is a burst. A delay that stayed long is a standing queue. During
/// a standing queue each turn accepts a limited number of calls, the window. Long turns shrink the window, short turns
/// let it grow. One user gets at most a part of it, so that one user's calls do not shut out those of all others.
///
/// One instance for each shard, confined to the shard's loop.
final class CallAdmission {
    /// The longest turn that counts as short. A request waits for up to two turns.
    static let target = Duration.milliseconds(35)
    /// The time without a short turn after which there is a standing queue.
    static let interval = Duration.milliseconds(100)
    /// The age of the present turn beyond which all new calls are refused.
    static let burst = Duration.milliseconds(250)
    /// The age of the oldest commit beyond which all new calls are refused: a slow disk delays all replies.
    static let commit = Duration.milliseconds(500)
    /// The smallest window: other requests may queue too, such as those of clients that return after a restart.
    static let leastWindow = 8.0
    /// The least factor by which one turn shrinks the window: accepted calls cause work for some turns more.
    static let leastFactor = 0.8
    /// The number of refusals after which a turn accepts one more call than the window. They take about as much time as one
    /// call, so clients that call again at once get at most about half of the time.
    static let refusalsPerCall = 8
    /// The factor by which one turn lets the window grow.
    static let growth = 1.05
    /// One user may have at most the window divided by this.
    static let sharesOfWindow = 4
    /// The time without a refusal by the window after which the overload counts as over.
    static let calm = Duration.seconds(1)
    private static let betweenReports = Duration.seconds(30)

    /// The turns of one loop.
    private struct Turns {
        private var count: UInt64?
        private var seenAt = Instant(milliseconds: 0)
        /// The duration of the last turn; the average if several turns ended since the last call of `note`.
        private(set) var delay = Duration.zero

        /// - Returns: whether a turn has ended since the last call of `note`.
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
    /// When the first of the latest long turns ended; nil after a short turn.
    private var longSince: Instant?
    private var calledAt = Instant(milliseconds: 0)
    /// The most calls accepted in a turn of the slower loop; nil without overload.
    private var window: Double?
    /// The calls accepted in the present turn.
    private var accepted = 0
    /// Those of each user, while there is a window.
    private var acceptedOfUser: [Handle: Int] = [:]
    /// The calls refused in the present turn.
    private var refused = 0
    /// Whether the window refused a call of the present turn.
    private var isExhausted = false
    private var exhaustedAt = Instant(milliseconds: 0)
    private var lastReport: Instant?
    private var refusedSinceReport = 0

    /// - Parameters:
    ///   - loads: the loads of the shard's loop and of the core's loop.
    ///   - commitWait: the age of the oldest commit that is not durable yet; nil when all are durable.
    init(
        clock: ServerClock, counters: SignalCounters, log: Logger,
        loads: @escaping () -> (shard: LoopLoad, core: LoopLoad), commitWait: @escaping () -> Duration?
    ) {
        self.clock = clock
        self.counters = counters
        self.log = log
        self.loads = loads
        self.commitWait = commitWait
    }

    /// Decides on a new call.
    /// - Parameters:
    ///   - serial: the serial of its connection or request. Spreads the times of the retries.
    ///   - user: the user who places it, also by a backend; nil counts for no user.
    /// - Returns: nil when the call is accepted.
    func refusal(for serial: UInt64, of user: Handle? = nil) -> SignalError? {
        let now = clock.now()
        let loads = loads()
        let (shardEnded, coreEnded) = (shard.note(loads.shard, now: now), core.note(loads.core, now: now))
        if shard.delay > core.delay ? shardEnded : coreEnded {
            turnEnded(after: max(shard.delay, core.delay), now: now)
        }
        calledAt = now
        if isLate(loads.shard, loads.core) { return refuse(serial, now: now) }
        if let window {
            if accepted >= Int(window) + refused / Self.refusalsPerCall {
                (isExhausted, exhaustedAt) = (true, now)
                return refuse(serial, now: now)
            }
            if let user {
                guard acceptedOfUser[user, default: 0] < max(1, Int(window) / Self.sharesOfWindow) else {
                    exhaustedAt = now
                    return refuse(serial, now: now)
                }
                acceptedOfUser[user, default: 0] += 1
            }
        }
        accepted += 1
        return nil
    }

    private func isLate(_ shard: LoopLoad, _ core: LoopLoad) -> Bool {
        max(shard.turn, core.turn) > Self.burst || commitWait().map { $0 > Self.commit } ?? false
    }

    private func turnEnded(after delay: Duration, now: Instant) {
        defer {
            (accepted, refused, isExhausted) = (0, 0, false)
            acceptedOfUser.removeAll(keepingCapacity: true)
        }
        if delay <= Self.target {
            longSince = nil
        } else if longSince == nil || now - calledAt > delay + Self.interval {
            // After a pause without calls, nothing is known of the turns before.
            longSince = now
        }
        guard let window else {
            if let longSince, now - longSince > Self.interval {
                self.window = max(Self.leastWindow, Double(accepted) * (Self.target / delay))
                exhaustedAt = now
            }
            return
        }
        if now - exhaustedAt > Self.calm {
            self.window = nil
        } else if delay > Self.target {
            self.window = max(Self.leastWindow, window * max(Self.leastFactor, Self.target / delay))
        } else if isExhausted {
            self.window = max(window + 1, window * Self.growth)
        }
    }

    private func refuse(_ serial: UInt64, now: Instant) -> SignalError {
        counters.countLateCall()
        refused += 1
        report(now: now)
        // Spreads the retries over a second.
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
