import CallCore
import CallVocabulary
import EventLoop
import Glibc
import RecordTables
import StoreInterface
import Synchronization

/// The part of a ``GroupCommitter`` that is confined to its thread.
final class CommitWorker {
    struct Batch: Sendable {
        var records: [StoreRecord]
        var completion: @Sendable (Result<CommitReceipt, StoreFailure>) -> Void
    }

    /// A transaction with this many records takes no further batch, so that the first batches of a long queue need not
    /// wait for the last.
    private static let recordsPerCommit = 8192
    /// With a larger journal backlog, a commit is appended to the journal even without load.
    private static let recordsBroughtAlong = 64
    /// About how many rows are applied while a commit waits: some 20 ms on a dedicated core.
    private static let recordsBetweenCommits = 4096
    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(5)
    private static let betweenLooks = Duration.seconds(1)
    /// How long the journal is not used after a failed write.
    private static let journalRest = Duration.seconds(5)

    private let store: CallStore
    private let loop: EventLoop
    /// The loop of the thread that applies the journal to the tables.
    private let tablesLoop: EventLoop
    private let shared: CommitterState
    private let onHealth: @Sendable (StoreFailure?) -> Void
    private let onCheckpoint: @Sendable (StoreFailure?) -> Void
    /// Batches that are not durable yet, in order.
    private var waiting: [Batch] = []
    /// Whether a failed commit waits for its next attempt.
    private var isPausing = false
    /// Created at the first failure; released on the thread, by ``close()``.
    private var pauseTimer: LoopTimer?
    private var pause = firstPause
    private let behind: WriteBehind
    private var load: LoadGauge
    /// The number of the first waiting batches that are durable but not recorded in the mark, and of their rows. A
    /// retry does not write them again.
    private var unmarked: (batches: Int, rows: Int)?
    /// The load decision for the group being committed, kept over retries: a group counts once.
    private var isLoad: Bool?
    private var journalRestsUntil: ContinuousClock.Instant?
    /// Fires when the journal is to be applied to the tables. Created when first needed; released on the thread, by
    /// ``close()``.
    private var catchUpTimer: LoopTimer?
    private var isCatchUpDue = false
    /// Whether the tables' thread is applying the journal.
    private var isCatchingUp = false
    /// Checks the files while nothing is committed.
    private var filesTimer: LoopTimer?
    private var isClosed = false
    private var window = CommitWindow()

    init(
        store: CallStore, loop: EventLoop, tablesLoop: EventLoop, shared: CommitterState, behind: WriteBehind,
        onHealth: @escaping @Sendable (StoreFailure?) -> Void,
        onCheckpoint: @escaping @Sendable (StoreFailure?) -> Void
    ) {
        self.onHealth = onHealth
        self.onCheckpoint = onCheckpoint
        self.store = store
        self.loop = loop
        self.tablesLoop = tablesLoop
        self.shared = shared
        self.behind = behind
        load = LoadGauge(behind)
    }

    /// Waits for further batches while many come, so that fewer commits are made. Blocks the thread.
    func awaitFurtherBatches() {
        guard !isClosed, !isPausing, let wait = window.wait(at: .now) else { return }
        usleep(UInt32(wait / .microseconds(1)))
    }

    func take(_ batches: inout [Batch]) {
        waiting += batches
        if isClosed {
            refuseRest(closedFailure)
        } else if !isPausing {
            commitWaiting()
        }
    }

    /// Makes a last attempt to commit; fails the batches that remain.
    func close() {
        guard !isClosed else { return }
        pauseTimer = nil
        catchUpTimer = nil
        filesTimer = nil
        isClosed = true
        commitWaiting()
        refuseRest(shared.failure.withLock { $0 } ?? closedFailure)
        store.close()
    }

    /// Has the present journal applied to the tables, unless commits are failing.
    /// - Parameter completion: called on this thread, with whether it is applied.
    func settle(_ completion: @escaping @Sendable (Bool) -> Void) {
        guard !isClosed, !isPausing else { return completion(false) }
        guard let last = store.lastBehind else { return completion(true) }
        let isTaken = apply(records: .max) { worker in
            completion(!worker.isClosed && (worker.store.firstBehind ?? .max) > last)
        }
        if !isTaken { completion(catchUp(records: .max)) }
    }

    private func commitWaiting() {
        while !waiting.isEmpty {
            guard areFilesInPlace(), catchUpWhatIsLate() else { return }
            let group = waiting.prefix(unmarked?.batches ?? nextGroup)
            let records = group.reduce(0) { $0 + $1.records.count }
            let began = ContinuousClock.now
            window.commitBegan(at: began, batches: group.count)
            do {
                // A batch without records waits only for the batches before it, which are durable.
                let rows = records == 0 ? 0 : try makeDurable(group, records: records, at: began)
                resume()
                count(group, records: records, rows: rows, took: ContinuousClock.now - began)
            } catch {
                // The journal alone may be unwritable: the next attempts go to the tables.
                journalRestsUntil = began + Self.journalRest
                isLoad = isLoad.map { _ in false }
                return fail(error)
            }
            waiting.removeFirst(group.count)
            shared.ended(group.count)
            for batch in group {
                batch.completion(.success(CommitReceipt()))
            }
        }
        planCatchUp()
    }

    /// Commits a group and records it in the mark. If only the mark failed, the next attempt repeats only the mark.
    /// - Returns: how many rows were written to the tables.
    private func makeDurable(
        _ group: ArraySlice<Batch>, records: Int, at now: ContinuousClock.Instant
    ) throws(StoreFailure) -> Int {
        if unmarked == nil {
            let isLoad = self.isLoad ?? (load.isLoad(records, at: now) && mayUseJournal(at: now))
            self.isLoad = isLoad
            unmarked = (group.count, try commit(group, isLoad: isLoad))
            self.isLoad = nil
        }
        try store.noteDurable()
        return unmarked.take()?.rows ?? 0
    }

    /// Starts the file checks. Call it once, on the thread.
    func watchFiles() {
        let timer = LoopTimer(loop: loop) { [weak self] in
            guard let self else { return }
            if !isClosed { noteLinks() }
            if !isClosed, !isPausing { _ = areFilesInPlace() }
            filesTimer?.start(after: Self.betweenLooks)
        }
        timer.start(after: Self.betweenLooks)
        filesTimer = timer
    }

    private func noteLinks() {
        var linked: StoreFailure?
        do throws(StoreFailure) { try StoreFolder.refuseLinks(in: store.folder) } catch { linked = error }
        shared.statistics.withLock { [linked] in $0.linked = linked }
    }

    /// - Returns: false when files are displaced: commits would be lost, so none is made until the files are back.
    private func areFilesInPlace() -> Bool {
        do {
            try store.checkFiles()
            return true
        } catch {
            fail(error)
            return false
        }
    }

    /// - Returns: how many rows were written to the tables.
    private func commit(_ group: ArraySlice<Batch>, isLoad: Bool) throws(StoreFailure) -> Int {
        let batches = group.lazy.map(\.records)
        // A backlog from a time of load is applied in parallel with commits, not by the first commit after it.
        guard isLoad || store.behindCount > Self.recordsBroughtAlong else { return try store.write(batches: batches) }
        return try store.writeBehind(batches: batches)
    }

    private func mayUseJournal(at now: ContinuousClock.Instant) -> Bool {
        guard let journalRestsUntil else { return true }
        guard journalRestsUntil <= now else { return false }
        self.journalRestsUntil = nil
        return true
    }

    // MARK: Applying the journal

    private func planCatchUp() {
        let isOverLimit = store.behindCount > behind.limit
        guard !isCatchUpDue || isOverLimit, !isCatchingUp, !isClosed, let since = store.behindSince else { return }
        let timer = catchUpTimer ?? LoopTimer(loop: loop) { [weak self] in self?.catchUpTimeHasCome() }
        catchUpTimer = timer
        isCatchUpDue = true
        let delay = isOverLimit ? .zero : since + behind.delay - ContinuousClock.now
        // A timer that is due at once fires again before libuv (1.44) handles anything else, commits included.
        timer.start(after: max(.milliseconds(1), delay))
    }

    private func catchUpTimeHasCome() {
        isCatchUpDue = false
        // Retried after the pause.
        guard !isPausing, !isCatchingUp, let since = store.behindSince else { return }
        guard since + behind.delay <= ContinuousClock.now || store.behindCount > behind.limit else {
            return planCatchUp()
        }
        // A late journal is applied in small parts: the thread may lack a core, and the next commit waits for the part
        // in progress.
        let records = isLate ? min(behind.records, Self.recordsBetweenCommits) : behind.records
        isCatchingUp = apply(records: records) { worker in
            worker.isCatchingUp = false
            worker.planCatchUp()
        }
    }

    /// Has the tables' thread apply the oldest part of the journal, in parallel with commits.
    /// - Parameter completion: called on this thread on success or failure.
    /// - Returns: false when that thread has ended.
    private func apply(records: Int, then completion: @escaping @Sendable (CommitWorker) -> Void) -> Bool {
        let (worker, tables) = (LoopBound(self, on: loop), store.tables)
        return tablesLoop.execute {
            let result = Result { () throws(StoreFailure) in try tables.catchUp(records: records) }
            worker.loop.execute {
                worker.value.broughtIn(result)
                completion(worker.value)
            }
        }
    }

    private func broughtIn(_ result: Result<Settled?, StoreFailure>) {
        guard !isClosed else { return }
        switch result {
        case .success(let settled):
            store.note(settled)
            note(rows: settled?.rows ?? 0)
        // The failure may be outdated: a commit that waited may have applied everything since.
        case .failure(let failure): if !isPausing, store.behindSince != nil { fail(failure) }
        }
    }

    private var isLate: Bool { store.behindSince.map { $0 + behind.longest < .now } ?? false }

    /// Applies a part of a late journal on this thread: when the tables' thread does not keep up, commits wait.
    /// - Returns: false on failure.
    private func catchUpWhatIsLate() -> Bool {
        if isLate { guard catchUp(records: Self.recordsBetweenCommits) else { return false } }
        while store.behindCount > behind.limit {
            guard catchUp(records: Self.recordsBetweenCommits) else { return false }
        }
        return true
    }

    /// Applies journal entries here, after those in progress on the tables' thread.
    /// - Returns: false on failure; it is retried, and no commit is made until then.
    @discardableResult
    private func catchUp(records: Int) -> Bool {
        guard store.behindSince != nil else { return true }
        do {
            note(rows: try store.catchUp(records: records))
            return true
        } catch {
            fail(error)
            return false
        }
    }

    private func note(rows: Int) {
        shared.statistics.withLock { statistics in
            statistics.rows += UInt64(rows)
            noteBehind(in: &statistics)
        }
        // While a commit is to be retried, the retry reports the health.
        if waiting.isEmpty, !isPausing { resume() }
    }

    /// The number of waiting batches for the next transaction, at least one.
    private var nextGroup: Int {
        var records = 0
        for (index, batch) in waiting.enumerated() {
            records += batch.records.count
            if records >= Self.recordsPerCommit { return index + 1 }
        }
        return waiting.count
    }

    private func count(_ group: ArraySlice<Batch>, records: Int, rows: Int, took duration: Duration) {
        shared.statistics.withLock { statistics in
            statistics.commits += 1
            statistics.batches += UInt64(group.count)
            statistics.records += UInt64(records)
            statistics.rows += UInt64(rows)
            statistics.largestGroup = max(statistics.largestGroup, group.count)
            statistics.latency.add(duration)
            statistics.groupSizes.add(group.count)
            noteBehind(in: &statistics)
        }
        noteCheckpoints()
    }

    private func noteCheckpoints() {
        let failure = store.checkpointFailure
        let was = shared.statistics.withLock { statistics in
            defer { statistics.checkpointFailure = failure }
            return statistics.checkpointFailure
        }
        if (was == nil) != (failure == nil) { onCheckpoint(failure) }
    }

    private func noteBehind(in statistics: inout CommitStatistics) {
        statistics.behind = store.behindCount
        statistics.behindSince = store.behindSince
    }

    private func resume() {
        guard pause != Self.firstPause else { return }
        pause = Self.firstPause
        shared.failure.withLock { $0 = nil }
        onHealth(nil)
    }

    private func fail(_ failure: StoreFailure) {
        let isNew = shared.failure.withLock { known in
            defer { known = failure }
            return known == nil
        }
        if isNew { onHealth(failure) }
        shared.statistics.withLock { $0.failures += 1 }
        guard !isClosed else { return }
        let timer = pauseTimer ?? LoopTimer(loop: loop) { [weak self] in self?.tryAgain() }
        timer.start(after: pause)
        pauseTimer = timer
        isPausing = true
        pause = min(pause * 2, Self.longestPause)
    }

    private func tryAgain() {
        isPausing = false
        // Applying the journal has failed, or will on a full disk: do it first, so that the lag of readers does not
        // grow.
        guard areFilesInPlace(), catchUp(records: .max) else { return }
        if waiting.isEmpty { resume() }
        commitWaiting()
    }

    private func refuseRest(_ failure: StoreFailure) {
        let rest = waiting
        waiting = []
        shared.ended(rest.count)
        for batch in rest { batch.completion(.failure(failure)) }
    }

    private var closedFailure: StoreFailure {
        StoreFailure(.closed, path: store.folder, detail: "the server is stopping; the batch is not durable")
    }
}

@available(*, unavailable)
extension CommitWorker: Sendable {}
