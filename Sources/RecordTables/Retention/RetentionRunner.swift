import CallVocabulary
import EventLoop
import StoreInterface
import Synchronization

/// The tables of an open store, for retention. Calls are serialized with all other writes to them.
package protocol RetentionTables: Sendable {
    /// Deletes, in one transaction, some of the rows that `run` selects, and records its progress in `run`.
    /// - Parameters:
    ///   - rows: the most rows to delete or read.
    ///   - isOver: called after each call, push or user; true ends the slice.
    func deleteSlice(
        _ run: inout RetentionRun, rows: Int, until isOver: () -> Bool
    ) throws(StoreFailure) -> RetentionCounts
    /// The creation time of the oldest call; nil without calls.
    func oldestCall() throws(StoreFailure) -> Instant?
}

/// Runs retention on the tables' thread, in slices between commits, with pauses that limit its share of the thread.
package final class RetentionRunner {
    private let tables: any RetentionTables
    private let loop: EventLoop
    private let shared: CommitterState
    private let policy: RetentionPolicy
    private let pace: RetentionPace
    private let now: @Sendable () -> Instant
    private var timer: LoopTimer?
    /// nil between runs.
    private var run: RetentionRun?
    /// How often in a row the next slice has yielded to commits.
    private var yields = 0

    /// Create and release it on the loop's thread.
    package init(
        _ policy: RetentionPolicy, tables: any RetentionTables, loop: EventLoop, shared: CommitterState,
        pace: RetentionPace,
        now: @escaping @Sendable () -> Instant
    ) {
        self.policy = policy
        self.tables = tables
        self.loop = loop
        self.shared = shared
        self.pace = pace
        self.now = now
        let timer = LoopTimer(loop: loop) { [weak self] in self?.goOn() }
        timer.start(after: pace.firstAfter)
        self.timer = timer
    }

    deinit { shared.retention.withLock { $0.isRunning = false } }

    private func goOn() {
        guard shared.failure.withLock({ $0 }) == nil else { return rest(pace.every) }
        let isBusy = shared.waiting.load(ordering: .relaxed) > 0
        if isBusy, yields < pace.patience {
            yields += 1
            shared.retention.withLock { $0.yields += 1 }
            return rest(pace.yield)
        }
        yields = 0
        // Under constant commits it runs nevertheless, in smaller slices.
        let rows = isBusy ? max(1, pace.rows / 10) : pace.rows
        do {
            rest(try deleteSlice(rows, endsForCommits: !isBusy))
        } catch {
            run = nil
            shared.retention.withLock {
                $0.failures += 1
                $0.isRunning = false
            }
            rest(pace.every)
        }
    }

    /// - Returns: the pause after the slice.
    private func deleteSlice(_ rows: Int, endsForCommits: Bool) throws(StoreFailure) -> Duration {
        let began = ContinuousClock.now
        var run = run ?? RetentionRun(policy, now: now())
        let (time, shared) = (pace.time, shared)
        let deleted = try tables.deleteSlice(&run, rows: rows) {
            ContinuousClock.now - began >= time
                || endsForCommits && shared.waiting.load(ordering: .relaxed) > 0
        }
        let took = ContinuousClock.now - began
        let isDone = run.isDone
        let oldest = isDone ? try tables.oldestCall() : nil
        let endedAt = now()
        self.run = isDone ? nil : run
        shared.retention.withLock {
            $0.slices += 1
            $0.deleted += deleted
            $0.largestSlice = max($0.largestSlice, deleted.total)
            $0.latency.add(took)
            $0.isRunning = !isDone
            guard isDone else { return }
            $0.runs += 1
            $0.lastRunEnded = endedAt
            $0.oldestCall = oldest
        }
        return isDone ? pace.every : pace.pause(after: took)
    }

    /// A timer that is due at once fires again before libuv (1.44) handles anything else, commits included.
    private func rest(_ pause: Duration) { timer?.start(after: max(.milliseconds(1), pause)) }
}

@available(*, unavailable)
extension RetentionRunner: Sendable {}
