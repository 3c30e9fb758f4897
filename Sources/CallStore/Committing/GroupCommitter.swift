import CallCore
import CallVocabulary
import EventLoop
import RecordTables
import StoreInterface
import Synchronization

/// Group commit on its own thread: commits all waiting batches in one transaction, and completes them when they are
/// durable. A second thread applies the journal to the tables under load, and runs retention.
///
/// Batches become durable and complete in the order of submission. A failed commit (disk full) is retried with growing
/// pauses until it succeeds; later batches wait. No batch is skipped, or completed before it is durable. ``failure``
/// has the cause.
///
/// Under load, a durable batch may be in the journal for half a second, or longer without a free core. Only then is it
/// in the tables, where a ``StoreReader`` sees it.
///
/// May be used from any thread. Must be ended with ``close()``.
public final class GroupCommitter: RecordLog {
    /// The default limit of waiting batches, including those of a failing commit.
    public static let defaultCapacity = CommitterState.standardCapacity

    public let capacity: Int

    let loop: EventLoop
    /// The loop of the thread that applies the journal to the tables, and runs retention.
    let tablesLoop: EventLoop
    let shared: CommitterState
    private let worker: LoopBound<CommitWorker>
    private let tables: StoreTables
    /// The loop of the thread that checks pages.
    private let pagesLoop: EventLoop
    private let checks: LoopBound<PageChecks>
    let pageCheckStop = QueryStop()
    private let path: String
    private let retainer: LoopBound<Retainer>
    private let mailbox: Mailbox<CommitWorker.Batch>

    /// Starts the threads.
    /// - Parameters:
    ///   - store: consumed: it belongs to the committer's threads, and is closed with them.
    ///   - behind: when batches are written to the journal first.
    ///   - onHealth: called on the store's thread with a failure when commits begin to fail, and with nil when they
    ///     succeed again.
    ///   - onCheckpoint: called on the store's thread with a failure when checkpoints begin to fail, and with nil when
    ///     they succeed again. Commits continue meanwhile.
    /// - Throws: ``StoreFailure`` when the process has no file descriptors left for the threads' loops.
    public init(
        store: sending CallStore, capacity: Int = GroupCommitter.defaultCapacity, behind: WriteBehind = WriteBehind(),
        onHealth: @escaping @Sendable (StoreFailure?) -> Void = { _ in },
        onCheckpoint: @escaping @Sendable (StoreFailure?) -> Void = { _ in }
    ) throws(StoreFailure) {
        let (loop, tablesLoop, pagesLoop): (EventLoop, EventLoop, EventLoop)
        do {
            loop = try EventLoop(name: "store")
            // Low priority: these threads run in bursts of tens of milliseconds, and would take cores from commits and
            // sockets.
            tablesLoop = try EventLoop(name: "tables", scheduling: .background)
            pagesLoop = try EventLoop(name: "pages", scheduling: .background)
        } catch {
            throw StoreFailure(.inputOutput, path: store.folder, detail: "\(error)")
        }
        let shared = CommitterState()
        tables = store.tables
        path = StoreFolder.database(in: store.folder)
        self.pagesLoop = pagesLoop
        checks = LoopBound(PageChecks(), on: pagesLoop)
        let worker = LoopBound(
            CommitWorker(
                store: store, loop: loop, tablesLoop: tablesLoop, shared: shared, behind: behind, onHealth: onHealth,
                onCheckpoint: onCheckpoint),
            on: loop)
        mailbox = Mailbox(loop: loop, capacity: capacity, beforeTaking: { worker.value.awaitFurtherBatches() }) {
            worker.value.take(&$0)
        }
        self.capacity = capacity
        self.loop = loop
        self.tablesLoop = tablesLoop
        self.shared = shared
        self.worker = worker
        retainer = LoopBound(Retainer(), on: tablesLoop)
        loop.start()
        tablesLoop.start()
        pagesLoop.start()
        loop.execute { worker.value.watchFiles() }
    }

    /// Commits `batch`, then calls `completion` on the store's thread.
    ///
    /// The completion fails only when the committer is closed before the batch is durable. It must be short: the next
    /// commit waits for it.
    /// - Returns: false when ``capacity`` batches wait or the committer is closed. The batch is not taken then, and
    ///   `completion` is not called: retry after an earlier batch has completed.
    public func commit(
        batch: [StoreRecord], then completion: @escaping @Sendable (Result<CommitReceipt, StoreFailure>) -> Void
    ) -> Bool {
        guard shared.began() <= capacity else {
            shared.refused()
            return false
        }
        guard mailbox.post(CommitWorker.Batch(records: batch, completion: completion)) else {
            shared.refused()
            return false
        }
        return true
    }

    /// Applies all durable batches to the tables, where readers see them.
    /// - Parameter completion: called on the store's thread with the success; at once, with false, when the committer
    ///   is closed.
    public func settle(_ completion: @escaping @Sendable (_ isSettled: Bool) -> Void) {
        if !loop.execute({ [worker] in worker.value.settle(completion) }) { completion(false) }
    }

    /// The number of batches that are not durable yet.
    public var waiting: Int { shared.waiting.load(ordering: .relaxed) }

    /// Since when the oldest of them waits; nil when there are none.
    public var waitingSince: ContinuousClock.Instant? { shared.given.withLock { $0.first } }

    /// Why commits fail now; nil while they succeed.
    public var failure: StoreFailure? { shared.failure.withLock { $0 } }

    public var statistics: CommitStatistics { shared.statistics.withLock { $0 } }

    /// Starts retention and page checks. Retention deletes the rows that `policy` does not keep, first after a while
    /// and then every hour, a few rows at a time, between commits. The first page check starts after a second, further
    /// ones every six hours. A later call replaces an earlier one.
    public func startMaintenance(
        _ policy: RetentionPolicy, now: @escaping @Sendable () -> Instant,
        onDamage: @escaping @Sendable (StoreFailure) -> Void
    ) {
        startRetention(policy, pace: RetentionPace(), now: now)
        startPageChecks(pace: PageCheckPace(), onDamage: onDamage)
    }

    func startRetention(_ policy: RetentionPolicy, pace: RetentionPace, now: @escaping @Sendable () -> Instant) {
        tablesLoop.execute { [retainer, tables, shared] in
            retainer.value.runner = RetentionRunner(
                policy, tables: tables, loop: retainer.loop, shared: shared, pace: pace, now: now)
        }
    }

    func startPageChecks(pace: PageCheckPace, onDamage: @escaping @Sendable (StoreFailure) -> Void) {
        // Read here: a reader may meet a damaged page before the loop's thread has begun.
        let mismatches = PageChecksums.mismatches
        pagesLoop.execute { [checks, path, shared, pageCheckStop] in
            checks.value.checker = PageChecker(
                path, loop: checks.loop, pace: pace, after: mismatches, shared: shared, stop: pageCheckStop,
                onDamage: onDamage)
        }
    }

    public var pages: PageCheckStatistics { shared.pages.withLock { $0 } }

    public var retention: RetentionStatistics { shared.retention.withLock { $0 } }

    /// Commits the waiting batches, in one last attempt if commits are failing, closes the store and ends the threads.
    /// Batches that could not be made durable complete with the failure.
    public func close() async {
        pageCheckStop.request()
        pagesLoop.execute { [checks] in checks.value.checker = nil }
        tablesLoop.execute { [retainer] in retainer.value.runner = nil }
        await pagesLoop.stopAndWait()
        await tablesLoop.stopAndWait()
        loop.execute { [worker] in worker.value.close() }
        await loop.stopAndWait()
    }
}

/// Owns the running retention, if any.
private final class Retainer {
    var runner: RetentionRunner?
}

/// Owns the running page check, if any.
private final class PageChecks {
    var checker: PageChecker?
}
