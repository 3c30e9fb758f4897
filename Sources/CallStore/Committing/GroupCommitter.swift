import CallCore
import CallVocabulary
import DequeModule
import EventLoop
import StoreInterface
import Synchronization

/// Commits batches of records on a thread of its own, as many as wait in one transaction, and tells when they are
/// durable. Another thread writes the tables under load, and deletes what is over.
///
/// Batches become durable in the order in which they were given, and are completed in that order. A commit that fails
/// (disk full) is tried again with growing pauses until it succeeds, while those behind it wait: none is skipped, and
/// none is completed before it is durable. ``failure`` then says what is wrong.
///
/// Under load, what is durable may stand in the journal for half a second, longer where the machine lacks cores, before it
/// is in the tables, where a ``StoreReader`` sees it.
///
/// Any thread may use it. It has to be ended with ``close()``.
public final class GroupCommitter: RecordLog {
    /// How many batches may wait, including those of a commit that fails. With the core giving one batch per turn,
    /// it is many seconds' worth; a server that reaches it has lost its disk.
    public static let defaultCapacity = 4096

    /// How many batches may wait at most.
    public let capacity: Int

    let loop: EventLoop
    /// Of the thread that writes the tables under load, and deletes from them.
    let tablesLoop: EventLoop
    let shared: CommitterState
    private let worker: LoopBound<CommitWorker>
    private let tables: StoreTables
    /// Of the thread that looks at pages.
    private let pagesLoop: EventLoop
    private let checks: LoopBound<PageChecks>
    private let path: String
    private let retainer: LoopBound<Retainer>
    private let mailbox: Mailbox<CommitWorker.Batch>

    /// Starts the threads.
    /// - Parameters:
    ///   - store: given up by the caller: it belongs to the committer's threads, and is closed with them.
    ///   - behind: when batches stand in the journal alone for a while.
    ///   - onHealth: told on the store's thread when commits begin to fail, and with nil when they are done again.
    /// - Throws: ``StoreFailure`` when the process is out of descriptors for the threads' loops.
    public init(
        store: sending CallStore, capacity: Int = GroupCommitter.defaultCapacity, behind: WriteBehind = WriteBehind(),
        onHealth: @escaping @Sendable (StoreFailure?) -> Void = { _ in }
    ) throws(StoreFailure) {
        let (loop, tablesLoop, pagesLoop): (EventLoop, EventLoop, EventLoop)
        do {
            loop = try EventLoop(name: "store")
            // In bursts of tens of milliseconds, in which commits and sockets would share what cores are left.
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
                store: store, loop: loop, tablesLoop: tablesLoop, shared: shared, behind: behind, onHealth: onHealth),
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
        pagesLoop.start()
        loop.execute { worker.value.watchFiles() }
    }

    /// Has `batch` committed and then calls `completion` on the store's thread.
    ///
    /// The completion gets a failure only when the committer is closed before the batch could be made durable. It
    /// should only hand the news on: the next commit waits for it.
    /// - Returns: false when ``capacity`` batches wait already or the committer is closed. Nothing was taken then, and
    ///   `completion` is not called: keep the batch, and give it again after the completion of an earlier one.
    public func commit(
        batch: [StoreRecord], then completion: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
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

    /// Has all that is durable brought where readers see it.
    /// - Parameter completion: called on the store's thread, with whether it is; at once, with false, when the committer
    ///   is closed.
    public func settle(_ completion: @escaping @Sendable (_ isSettled: Bool) -> Void) {
        if !loop.execute({ [worker] in worker.value.settle(completion) }) { completion(false) }
    }

    /// How many batches wait to become durable.
    public var waiting: Int { shared.waiting.load(ordering: .relaxed) }

    /// Since when the oldest batch waits to become durable; nil when none does.
    public var waitingSince: ContinuousClock.Instant? { shared.given.withLock { $0.first } }

    /// Why commits fail at present; nil while they succeed.
    public var failure: StoreFailure? { shared.failure.withLock { $0 } }

    public var statistics: CommitStatistics { shared.statistics.withLock { $0 } }

    /// Deletes what `policy` lets go some time after this call and then every hour, a few rows at a time, between
    /// commits; reads every page of the database a second after this call and then every six hours. A later call takes
    /// the place of an earlier one.
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
        pagesLoop.execute { [checks, path, shared] in
            checks.value.checker = PageChecker(
                path, loop: checks.loop, pace: pace, shared: shared, onDamage: onDamage)
        }
    }

    public var pages: PageCheckStatistics { shared.pages.withLock { $0 } }

    public var retention: RetentionStatistics { shared.retention.withLock { $0 } }

    /// Commits what waits, in one last attempt if commits fail at present, closes the store and ends the threads.
    /// Batches that could not be made durable are completed with the failure.
    public func close() async {
        pagesLoop.execute { [checks] in checks.value.checker = nil }
        tablesLoop.execute { [retainer] in retainer.value.runner = nil }
        await pagesLoop.stopAndWait()
        await tablesLoop.stopAndWait()
        loop.execute { [worker] in worker.value.close() }
        await loop.stopAndWait()
    }
}

/// What retains at present, if anything does.
private final class Retainer {
    var runner: RetentionRunner?
}

/// What looks at pages at present, if anything does.
private final class PageChecks {
    var checker: PageChecker?
}

/// What the committer's threads tell the others.
final class CommitterState: Sendable {
    let waiting = Atomic<Int>(0)
    /// When each of the waiting batches was given, in order.
    let given = Mutex<Deque<ContinuousClock.Instant>>([])
    let pages = Mutex(PageCheckStatistics())
    let failure = Mutex<StoreFailure?>(nil)
    let statistics = Mutex(CommitStatistics())
    let retention = Mutex(RetentionStatistics())

    /// A batch is given.
    /// - Returns: how many wait with it.
    func began() -> Int {
        let now = ContinuousClock.now
        given.withLock { $0.append(now) }
        return waiting.add(1, ordering: .relaxed).newValue
    }

    /// The batch that was given last was not taken.
    func refused() {
        given.withLock { _ = $0.popLast() }
        waiting.subtract(1, ordering: .relaxed)
    }

    /// The oldest batches wait no more.
    func ended(_ count: Int) {
        given.withLock { $0.removeFirst(min(count, $0.count)) }
        waiting.subtract(count, ordering: .relaxed)
    }
}
