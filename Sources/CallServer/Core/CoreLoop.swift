import CallCore
import CallVocabulary
import EventLoop
import Logging
import PushClient
import StoreInterface
import Synchronization

/// Runs the call core on one thread, and carries out what it decides.
///
/// Output commit: each batch of inputs gives rows and outputs. The rows go to the store; the outputs wait until they are
/// on disk, and are released in the order of the batches. A push that is on disk as sent comes back to the core for its last
/// look, and then leaves at once. Meanwhile the core goes on with the next batch, and, while the store
/// keeps up, the push client makes new pushes ready.
final class CoreLoop {
    /// Facts for the core that may wait at most; a request beyond that is refused as `overloaded`. Those of a shard on
    /// the same thread wait only while the store is behind: what the thread has no time for is not read.
    static let inboxCapacity = 100_000
    /// Batches that may wait for the store at most, before the core stops taking input.
    static let pendingCommits = 256
    /// With more batches than this waiting, new pushes wait for theirs: while the store stands still nothing is gained by
    /// more of them in the push client's line.
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
    /// Has the anchor kept for the next process once all deadlines are stored by it.
    private let keepAnchor: @Sendable (ClockAnchor) -> Void
    /// The server stops: only what providers answer still counts.
    private var isResting = false

    /// Made on the core's loop.
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
        stall = StoreStall(loop: loop, outputs: outputs, log: log)
        self.keepAnchor = keepAnchor
        times = CoreTimes(offset: clock.offset)
        timer = LoopTimer(loop: loop) { [weak self] in self?.handleTimeouts() }
        clockTimer = LoopTimer(loop: loop) { [weak self] in self?.checkClock() }
    }

    /// Takes up what the store gave back, and lets everything fall due that did so while the server was down.
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
        // What a provider answered closes the books. A push that was committed as sent leaves, or is given back for the
        // next start. All else waits for that.
        if isResting { inputs.removeAll { !Self.isTakenAtRest($0) } }
        let now = clock.now()
        for input in inputs { core.handle(times.timeline(input), now: now, effects: &effects) }
        commit()
    }

    private static func isTakenAtRest(_ input: CoreInput) -> Bool {
        switch input {
        case .push(.ended), .push(.committed): true
        case .client, .connectionLost, .push(.ready), .store, .administered, .drainingBegan, .reconfigured: false
        }
    }

    private func handleTimeouts() {
        // With the store behind, deadlines wait like the inbox does: what would have kept them may be in it. At a stop
        // they wait for the next start, also those that the store has held up.
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
                    "the machine was suspended; deadlines that passed meanwhile take effect now",
                    metadata: ["ms": .stringConvertible(time.wholeMilliseconds)])
            }
        }
        // Timers count the time awake alone.
        if let next = core.nextDeadline(), next <= clock.now() { handleTimeouts() }
        clockTimer?.start(after: Self.clockInterval)
    }

    /// Deadlines stay where they are on the timeline, and are other times on the wall.
    private func takeStep(_ step: Duration) {
        log.warning(
            "the system clock was set; deadlines stay, and times that are said and stored follow it",
            metadata: ["by_ms": .stringConvertible(step.wholeMilliseconds)])
        // By the offset before, so that nothing of it is told in the restated records.
        commit()
        core.restate(now: clock.now(), effects: &effects)
        let (rows, _) = effects.take()
        times.step(to: clock.offset, restated: rows)
        let (restated, anchor) = (times.wall(rows), clock.anchor)
        guard !restated.isEmpty else { return keepAnchor(anchor) }
        release([], committing: restated) { [keepAnchor] in keepAnchor(anchor) }
    }

    // MARK: Committing

    private func commit() {
        let taken = effects.take()
        let (rows, outputs) = (times.wall(taken.records), times.wall(taken.outputs))
        arm()
        // What was on disk before this turn, and waits for nothing.
        self.outputs.transmitPushes(of: outputs)
        if rows.isEmpty, outputs.allSatisfy(CoreOutputs.isTransmission) { return }
        // A new push has a row.
        if rows.isEmpty, commits.count == 0 { return self.outputs.release(outputs) }
        release(outputs, committing: rows)
    }

    /// - Parameter done: called on the store's thread once the rows are durable.
    private func release(
        _ outputs: [CoreEffect], committing rows: [StoreRecord], then done: @escaping @Sendable () -> Void = {}
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
            // Not durable: the store was closed first. Nothing of it is acknowledged, then.
            if case .success = result {
                released.release(batch.release(), committed: rows, hasNewPushes: !isAhead)
                done()
            }
            if commits.end() == Self.pendingCommits - 1 { me.loop.execute { me.value.goOn() } }
        }
        // Only a store that is closed refuses: `pendingCommits` is far below its capacity, and nothing is decided beyond.
        if !isTaken { _ = commits.end() }
    }

    /// While the store stalls, what comes is looked at all the same: requests have to be refused.
    private func looked(isStalled: Bool, _ held: [CoreInput]) {
        if isStalled { return inbox?.resume() ?? () }
        var held = held
        receive(&held)
        if commits.count >= Self.pendingCommits { inbox?.pause() }
    }

    /// The store has caught up.
    private func goOn() {
        // Else it has fallen behind again, and says once more when it has caught up.
        guard commits.count < Self.pendingCommits else { return }
        inbox?.resume()
        let me = LoopBound(self, on: loop)
        // Behind what has gathered in the inbox.
        loop.execute { me.value.handleTimeouts() }
    }

    /// One deadline structure, one timer.
    private func arm() {
        guard let next = core.nextDeadline() else { return timer?.stop() ?? () }
        timer?.start(after: max(.zero, next - clock.now()))
    }

    /// Lets no deadline pass any more and takes nothing in but the outcomes of pushes.
    func rest() {
        isResting = true
        timer = nil
        clockTimer = nil
    }

    /// What metrics show of the core.
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

/// Batches that the store has, and whose outputs are not released yet. The core is not woken for each that ends: it looks
/// when it has something to release. Any thread.
private final class PendingCommits: Sendable {
    private let pending = Atomic<Int>(0)

    /// When it is 0, all that was released by the store's thread is seen by this one.
    var count: Int { pending.load(ordering: .acquiring) }

    /// - Returns: how many there are with this one.
    func begin() -> Int { pending.add(1, ordering: .relaxed).newValue }

    /// - Returns: how many are left.
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
    /// Until when the server means to be gone, while it drains.
    var drainsUntil: Instant?
    var commitsPending: Int
    var inboxRefused: UInt64
}
