import CallCore
import CallStore
import CallVocabulary
import EventLoop
import Logging
import Synchronization

/// Runs the call core on one thread, and carries out what it decides.
///
/// Output commit: each batch of inputs gives rows and outputs. The rows go to the store; the outputs wait until they are
/// on disk, and are released in the order of the batches. Meanwhile the core goes on with the next batch, and, while the store
/// keeps up, the push client makes new pushes ready.
final class CoreLoop {
    /// Facts for the core that may wait at most; a request beyond that is refused as `overloaded`. Those of a shard on
    /// the same thread wait only while the store is behind: what the thread has no time for is not read.
    static let inboxCapacity = 100_000
    /// Batches that may wait for the store at most, before the core rests.
    static let pendingCommits = 256
    /// With more batches than this waiting, new pushes wait for theirs: what is decided to be sent while the store stands still
    /// is sent when it goes on, whatever became of the call meanwhile.
    static let commitsAhead = 16

    private let loop: EventLoop
    private let core: CallCore
    private let clock: ServerClock
    private let committer: GroupCommitter
    private let outputs: CoreOutputs
    private let log: Logger
    /// Set by `run`; both refer back to this object.
    private var inbox: Mailbox<CoreInput>?
    private var timer: LoopTimer?
    private var effects = EffectBuffer()
    private let commits = PendingCommits()
    /// The server stops: only what providers answer still counts.
    private var isResting = false

    /// Made on the core's loop.
    init(
        loop: EventLoop, core: CallCore, clock: ServerClock, committer: GroupCommitter, outputs: CoreOutputs,
        log: Logger
    ) {
        loop.assertIsCurrent()
        self.loop = loop
        self.core = core
        self.clock = clock
        self.committer = committer
        self.outputs = outputs
        self.log = log
        timer = LoopTimer(loop: loop) { [weak self] in self?.handleTimeouts() }
    }

    /// Takes up what the store gave back, and lets everything fall due that did so while the server was down.
    func recover(_ state: RecoveredState, inbox: Mailbox<CoreInput>) {
        self.inbox = inbox
        core.recover(state, now: clock.now(), effects: &effects)
        handleTimeouts()
    }

    func receive(_ inputs: inout [CoreInput]) {
        // What a provider answered closes the books, or gives a push back to the next start. All else waits for that.
        if isResting { inputs.removeAll { if case .pushEnded = $0 { false } else { true } } }
        let now = clock.now()
        for input in inputs { core.handle(input, now: now, effects: &effects) }
        commit()
    }

    private func handleTimeouts() {
        // With the store behind, deadlines wait like the inbox does: what would have kept them may be in it. At a stop
        // they wait for the next start, also those that the store has held up.
        guard !isResting, commits.count < Self.pendingCommits else { return }
        core.handleTimeouts(now: clock.now(), effects: &effects)
        commit()
    }

    private func commit() {
        let (rows, outputs) = effects.take()
        arm()
        if rows.isEmpty, outputs.isEmpty { return }
        // A new push has a row.
        if rows.isEmpty, commits.count == 0 { return self.outputs.release(outputs) }
        let waiting = commits.begin()
        if waiting >= Self.pendingCommits {
            log.warning("the store is behind; the core rests", metadata: ["pending_commits": "\(commits.count)"])
            inbox?.pause()
        }
        let me = LoopBound(self, on: loop)
        let (released, commits) = (self.outputs, commits)
        let isAhead = waiting <= Self.commitsAhead && committer.isHealthy
        if isAhead { released.queueNewPushes(of: outputs) }
        let isTaken = committer.commit(batch: rows) { result in
            // Not durable: the store was closed first. Nothing of it is acknowledged, then.
            if case .success = result { released.release(outputs, committed: rows, hasNewPushes: !isAhead) }
            if commits.end() == Self.pendingCommits - 1 { me.loop.execute { me.value.goOn() } }
        }
        // Only a store that is closed refuses: `pendingCommits` is far below its capacity, and nothing is decided beyond.
        if !isTaken { _ = commits.end() }
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
    }

    /// What metrics show of the core.
    var snapshot: CoreSnapshot {
        CoreSnapshot(
            counters: core.counters, ledger: core.ledger, ledgerViolations: core.ledgerViolations,
            census: core.census, liveCalls: core.liveCalls,
            onlineSessions: core.onlineSessions, isDraining: core.isDraining, drainsUntil: core.drainsUntil,
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
