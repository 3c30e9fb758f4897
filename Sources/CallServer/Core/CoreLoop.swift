import CallCore
import CallVocabulary
import EventLoop
import Logging
import PushClient
import StoreInterface
import Synchronization

/// Runs the call core on one thread, and performs its effects.
///
/// Output commit: each batch of inputs yields rows and outputs. The rows go to the store; the outputs wait until the
/// rows are on disk, and are released in the order of the batches. A push that is on disk as sent returns to the core
/// for a last check, and then leaves at once. Meanwhile the core handles the next batch. While the store keeps up, the
/// push client already prepares new pushes.
final class CoreLoop {
    /// The most inputs that may wait for the core; further requests are refused as `overloaded`. Inputs of a shard on
    /// the core's thread wait only while the store lags: sockets are not read while the thread is busy.
    static let inboxCapacity = 100_000
    /// Pending commits at which the core stops taking input.
    static let pendingCommits = 256
    /// Pending commits from which on new pushes wait for their own commit: while the store stalls, a longer push queue
    /// gains nothing.
    static let commitsAhead = 16

    private let loop: EventLoop
    private let core: CallCore
    private let clock: ServerClock
    private let committer: any RecordLog
    private let outputs: CoreOutputs
    private let log: Logger
    /// Set by `run`; both refer back to this object.
    private var inbox: Mailbox<CoreInput>?
    private var timer: LoopTimer?
    private var effects = EffectBuffer()
    private let commits = PendingCommits()
    private let stall: StoreStall
    private var times: CoreTimes
    private var clockTimer: LoopTimer?
    /// Saves the anchor for the next process, once all deadlines are stored with its offset.
    private let keepAnchor: @Sendable (ClockAnchor) -> Void
    /// The server is stopping: only outcomes of pushes are handled.
    private var isResting = false

    /// Create it on the core's loop.
    init(
        loop: EventLoop, core: CallCore, clock: ServerClock, committer: any RecordLog, outputs: CoreOutputs,
        log: Logger, keepAnchor: @escaping @Sendable (ClockAnchor) -> Void = { _ in }
    ) {
        loop.assertIsCurrent()
        self.loop = loop
        self.core = core
        self.clock = clock
        self.committer = committer
        self.outputs = outputs
        self.log = log
        stall = StoreStall(loop: loop, outputs: outputs, log: log, failure: { committer.failure })
        self.keepAnchor = keepAnchor
        times = CoreTimes(offset: clock.offset)
        timer = LoopTimer(loop: loop) { [weak self] in self?.handleTimeouts() }
        clockTimer = LoopTimer(loop: loop) { [weak self] in self?.checkClock() }
    }

    /// Recovers the stored state, and fires deadlines that passed while the server was down.
    func recover(_ state: RecoveredState, inbox: Mailbox<CoreInput>) {
        self.inbox = inbox
        stall.onLook = { [weak self] in self?.looked(isStalled: $0, $1) }
        core.recover(times.timeline(state), now: clock.now(), effects: &effects)
        handleTimeouts()
        keepAnchor(clock.anchor)
        checkClock()
    }

    func receive(_ inputs: inout [CoreInput]) {
        stall.admit(&inputs)
        // Outcomes of pushes complete the ledger. A push that was committed as sent leaves, or returns to the queue for
        // the next start. All other inputs wait for the next start.
        if isResting { inputs.removeAll { !Self.isTakenAtRest($0) } }
        let now = clock.now()
        for input in inputs { core.handle(times.timeline(input), now: now, effects: &effects) }
        commit()
    }

    private static func isTakenAtRest(_ input: CoreInput) -> Bool {
        switch input {
        case .push(.ended), .push(.committed): true
        case .client, .connectionLost, .push(.ready), .store, .authorized, .sessionAuthorized, .administered,
            .drainingBegan, .reconfigured:
            false
        }
    }

    private func handleTimeouts() {
        // While the store lags, deadlines wait like the inbox, which may hold inputs that cancel them. At a stop they
        // wait for the next start, even those delayed by the store.
        guard !isResting, commits.count < Self.pendingCommits else { return }
        core.handleTimeouts(now: clock.now(), effects: &effects)
        commit()
    }

    // MARK: The clock

    private static let clockInterval = Duration.seconds(1)

    private func checkClock() {
        guard !isResting else { return }
        for change in clock.check() {
            switch change {
            case .stepped(let step):
                takeStep(step)
                outputs.push.clockChanged(isSet: true)
            case .suspended(let time):
                outputs.push.clockChanged(isSet: false)
                log.warning(
                    "the machine was suspended; deadlines that passed during it take effect now",
                    metadata: ["ms": .stringConvertible(time.wholeMilliseconds)])
            }
        }
        // Timers do not run during suspension.
        if let next = core.nextDeadline(), next <= clock.now() { handleTimeouts() }
        clockTimer?.start(after: Self.clockInterval)
    }

    /// Handles a clock step: deadlines keep their timeline times, and their wall times change.
    private func takeStep(_ step: Duration) {
        log.warning(
            "the system clock was set; deadlines stay, reported and stored times follow the new clock",
            metadata: ["by_ms": .stringConvertible(step.wholeMilliseconds)])
        // Pending records first, with the old offset: the restated ones must not include them.
        commit()
        core.restate(now: clock.now(), effects: &effects)
        let (rows, outputs) = effects.take()
        times.step(to: clock.offset, restated: rows)
        let (restated, anchor) = (times.wall(rows), clock.anchor)
        guard !restated.isEmpty else { return keepAnchor(anchor) }
        release(outputs, committing: restated) { [keepAnchor] in keepAnchor(anchor) }
    }

    // MARK: Committing

    private func commit() {
        let taken = effects.take()
        let (rows, outputs) = (times.wall(taken.records), times.wall(taken.outputs))
        arm()
        // Pushes that were on disk before this turn wait for no commit, and neither do questions to the store.
        self.outputs.performAtOnce(outputs)
        if rows.isEmpty, outputs.needNotWait { return }
        // A new push always has a row.
        if rows.isEmpty, commits.count == 0, committer.mayRelease {
            return self.outputs.release(outputs.release(CommitReceipt()))
        }
        release(outputs, committing: rows)
    }

    /// - Parameter done: called on the store's thread once the rows are durable.
    private func release(
        _ outputs: HeldEffects, committing rows: [StoreRecord], then done: @escaping @Sendable () -> Void = {}
    ) {
        let waiting = commits.begin()
        if waiting >= Self.pendingCommits {
            log.warning(
                "the store is behind; the core takes no input",
                metadata: ["pending_commits": .stringConvertible(commits.count)])
            inbox?.pause()
        }
        let batch = stall.hold(outputs)
        let me = LoopBound(self, on: loop)
        let (released, commits) = (self.outputs, commits)
        let isAhead = waiting <= Self.commitsAhead && committer.isHealthy
        if isAhead { released.queueNewPushes(of: outputs) }
        let isTaken = committer.commit(batch: rows) { result in
            // A failure means that the store was closed before the rows were durable: nothing is acknowledged.
            if case .success(let receipt) = result {
                released.release(batch.release(receipt), committed: rows, hasNewPushes: !isAhead)
                done()
            }
            if commits.end() == Self.pendingCommits - 1 { me.loop.execute { me.value.goOn() } }
        }
        // Only a closed store refuses: `pendingCommits` is far below its capacity.
        if !isTaken { _ = commits.end() }
    }

    /// Continues to read the inbox while the store stalls, because requests must be refused.
    private func looked(isStalled: Bool, _ held: [CoreInput]) {
        if isStalled { return inbox?.resume() ?? () }
        var held = held
        receive(&held)
        if commits.count >= Self.pendingCommits { inbox?.pause() }
    }

    /// Resumes input when the store has caught up.
    private func goOn() {
        // Otherwise the store lags again, and this is called once more when it has caught up.
        guard commits.count < Self.pendingCommits else { return }
        inbox?.resume()
        let me = LoopBound(self, on: loop)
        // After the inputs that have gathered in the inbox.
        loop.execute { me.value.handleTimeouts() }
    }

    /// Sets the single timer to the next deadline.
    private func arm() {
        guard let next = core.nextDeadline() else { return timer?.stop() ?? () }
        timer?.start(after: max(.zero, next - clock.now()))
    }

    /// Stops all deadlines, and all input except outcomes of pushes.
    func rest() {
        isResting = true
        timer = nil
        clockTimer = nil
    }

    /// The core's figures for metrics.
    var snapshot: CoreSnapshot {
        CoreSnapshot(
            counters: core.counters, ledger: core.ledger, ledgerViolations: core.ledgerViolations,
            census: core.census, liveCalls: core.liveCalls,
            onlineSessions: core.onlineSessions, isDraining: core.isDraining, drainsUntil: times.wall(core.drainsUntil),
            commitsPending: commits.count, inboxRefused: inbox?.refused ?? 0)
    }
}

@available(*, unavailable)
extension CoreLoop: Sendable {}

/// Counts batches that are given to the store and not released. The core is not woken for each that completes; it
/// checks the count when it has outputs. May be used from any thread.
private final class PendingCommits: Sendable {
    private let pending = Atomic<Int>(0)

    /// At 0, everything that the store's thread released is visible to the core's thread.
    var count: Int { pending.load(ordering: .acquiring) }

    /// - Returns: the new count.
    func begin() -> Int { pending.add(1, ordering: .relaxed).newValue }

    /// - Returns: the new count.
    func end() -> Int { pending.subtract(1, ordering: .acquiringAndReleasing).newValue }
}

/// Figures of the core at one moment.
struct CoreSnapshot: Sendable {
    var counters: CoreCounters
    var ledger: LedgerCounts
    var ledgerViolations: [String]
    var census: CoreCensus
    var liveCalls: Int
    var onlineSessions: Int
    var isDraining: Bool
    /// When a draining server stops; nil when it does not drain.
    var drainsUntil: Instant?
    var commitsPending: Int
    var inboxRefused: UInt64
}
