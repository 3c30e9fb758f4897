import CallCore
import CallVocabulary
import EventLoop
import RecordTables
import StoreInterface
import Synchronization

/// Group commit to PostgreSQL on its own thread: commits all waiting batches in one statement, and completes them when
/// they are durable and this process is the home. A second thread applies the journal to the tables, and runs
/// retention.
///
/// Batches become durable and complete in the order of submission. A failed commit is repeated with growing pauses until
/// it succeeds; later batches wait. ``failure`` has the cause. When another process has become the home, all batches
/// fail, with `StoreFailure.Reason.fenced`, and no more are taken.
///
/// May be used from any thread. Must be ended with ``close()``.
package final class PostgresCommitter: RecordLog {
    package let capacity: Int

    let loop: EventLoop
    let tablesLoop: EventLoop
    private let shared: CommitterState
    private let worker: LoopBound<PostgresWorker>
    private let tables: PostgresTables
    private let retainer: LoopBound<Retainer>
    private let keeper: LeaseKeeper
    private let onLease: LeaseListener
    private let lease: LeaseState
    private let mailbox: Mailbox<PostgresWorker.Batch>

    /// Starts the threads.
    /// - Parameters:
    ///   - store: consumed: it belongs to the committer's threads, and is closed with them.
    ///   - behind: when batches may wait before they are applied to the tables.
    ///   - pauses: the first and the longest pause after a failure.
    ///   - onHealth: called on the store's thread with a failure when commits begin to fail or the reason changes, and
    ///     with nil when they succeed again.
    package init(
        store: sending PostgresStore, capacity: Int = CommitterState.standardCapacity,
        behind: WriteBehind = WriteBehind(), pauses: ClosedRange<Duration> = PostgresWorker.standardPauses,
        onHealth: @escaping @Sendable (StoreFailure?) -> Void = { _ in }
    ) throws(StoreFailure) {
        let (loop, tablesLoop): (EventLoop, EventLoop)
        do {
            loop = try EventLoop(name: "store")
            tablesLoop = try EventLoop(name: "tables", scheduling: .background)
        } catch {
            throw StoreFailure(.inputOutput, path: store.address.description, detail: "\(error)")
        }
        let shared = CommitterState()
        tables = store.tables
        keeper = store.keeper
        onLease = store.onLease
        lease = store.lease
        let worker = LoopBound(
            PostgresWorker(
                store: store, loop: loop, tablesLoop: tablesLoop, shared: shared, behind: behind, pauses: pauses,
                onHealth: onHealth),
            on: loop)
        mailbox = Mailbox(loop: loop, capacity: capacity) { worker.value.take(&$0) }
        self.capacity = capacity
        self.loop = loop
        self.tablesLoop = tablesLoop
        self.shared = shared
        self.worker = worker
        retainer = LoopBound(Retainer(), on: tablesLoop)
        loop.start()
        tablesLoop.start()
        onLease.set { loop.execute { worker.value.leaseHasChanged() } }
    }

    /// Commits `batch`, then calls `completion` on the store's thread, which must be short: the next commit waits.
    package func commit(
        batch: [StoreRecord], then completion: @escaping @Sendable (Result<CommitReceipt, StoreFailure>) -> Void
    ) -> Bool {
        if case .ended = lease.standing() { return false }
        guard shared.began() <= capacity else {
            shared.refused()
            return false
        }
        guard mailbox.post(PostgresWorker.Batch(records: batch, completion: completion)) else {
            shared.refused()
            return false
        }
        return true
    }

    package func settle(_ completion: @escaping @Sendable (_ isSettled: Bool) -> Void) {
        if !loop.execute({ [worker] in worker.value.settle(completion) }) { completion(false) }
    }

    package var waiting: Int { shared.waiting.load(ordering: .relaxed) }

    package var waitingSince: ContinuousClock.Instant? { shared.given.withLock { $0.first } }

    package var failure: StoreFailure? { shared.failure.withLock { $0 } }

    package var mayRelease: Bool { lease.standing() == .held }

    package var statistics: CommitStatistics { shared.statistics.withLock { $0 } }

    package var retention: RetentionStatistics { shared.retention.withLock { $0 } }

    /// PostgreSQL checks its pages itself: see `data_checksums` and `amcheck` of its manual.
    package var pages: PageCheckStatistics { PageCheckStatistics() }

    /// Starts retention, as `GroupCommitter.startMaintenance` does.
    package func startMaintenance(
        _ policy: RetentionPolicy, now: @escaping @Sendable () -> Instant,
        onDamage: @escaping @Sendable (StoreFailure) -> Void
    ) {
        startRetention(policy, pace: RetentionPace(), now: now)
    }

    func startRetention(_ policy: RetentionPolicy, pace: RetentionPace, now: @escaping @Sendable () -> Instant) {
        tablesLoop.execute { [retainer, tables, shared] in
            retainer.value.runner = RetentionRunner(
                policy, tables: tables, loop: retainer.loop, shared: shared, pace: pace, now: now)
        }
    }

    /// Commits the waiting batches, in one last attempt if commits are failing, applies the journal, gives the lease
    /// back and ends the threads.
    package func close() async {
        onLease.set(nil)
        tablesLoop.execute { [retainer] in retainer.value.runner = nil }
        await tablesLoop.stopAndWait()
        loop.execute { [worker] in worker.value.close() }
        await loop.stopAndWait()
        keeper.stop(givesBack: true)
    }
}

/// Owns the running retention, if any.
private final class Retainer {
    var runner: RetentionRunner?
}
