import CallCore
import CallVocabulary
import EventLoop
import Synchronization

/// The part of a ``GroupCommitter`` that lives on its thread.
final class CommitWorker {
    struct Batch: Sendable {
        var records: [StoreRecord]
        var completion: @Sendable (Result<Void, StoreFailure>) -> Void
    }

    /// A transaction takes no further batch once it has so many records: the first of a long queue are not to wait for
    /// the last.
    private static let recordsPerCommit = 8192
    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(5)

    private let store: CallStore
    private let loop: EventLoop
    private let shared: CommitterState
    private let onHealth: @Sendable (StoreFailure?) -> Void
    /// What is not durable yet, in order.
    private var waiting: [Batch] = []
    /// Between a failed commit and the next attempt.
    private var isPausing = false
    /// Made at the first failure; released on the thread, by ``close()``.
    private var pauseTimer: LoopTimer?
    private var pause = firstPause
    private let behind: WriteBehind
    private var load: LoadGauge
    private var slice: SliceSize
    /// Of the group that is being committed, until that has succeeded: it counts once, however often it is tried.
    private var isLoad: Bool?
    /// Fires when what was written behind is to be brought into the tables. Made when it is first needed; released on
    /// the thread, by ``close()``.
    private var catchUpTimer: LoopTimer?
    private var isCatchUpDue = false
    private var retention: RetentionRunner?
    private var isClosed = false

    init(
        store: CallStore, loop: EventLoop, shared: CommitterState, behind: WriteBehind,
        onHealth: @escaping @Sendable (StoreFailure?) -> Void
    ) {
        self.onHealth = onHealth
        self.store = store
        self.loop = loop
        self.shared = shared
        self.behind = behind
        load = LoadGauge(behind)
        slice = SliceSize(behind)
    }

    func take(_ batches: inout [Batch]) {
        waiting += batches
        if isClosed {
            refuseRest(closedFailure)
        } else if !isPausing {
            commitWaiting()
        }
    }

    /// Lets go from now on what `policy` says, in place of what was said before.
    func retain(_ policy: RetentionPolicy, _ pace: RetentionPace, now: @escaping @Sendable () -> Instant) {
        guard !isClosed else { return }
        retention = RetentionRunner(policy, store: store, loop: loop, shared: shared, pace: pace, now: now)
    }

    /// One last attempt; what it leaves is refused.
    func close() {
        guard !isClosed else { return }
        pauseTimer = nil
        catchUpTimer = nil
        retention = nil
        isClosed = true
        commitWaiting()
        refuseRest(shared.failure.withLock { $0 } ?? closedFailure)
        store.close()
    }

    /// Brings all that was written behind into the tables, unless commits fail at present.
    /// - Returns: whether it is there.
    @discardableResult
    func catchUp() -> Bool {
        guard !isClosed, !isPausing else { return false }
        return catchUp(records: .max)
    }

    private func commitWaiting() {
        while !waiting.isEmpty {
            while store.behindCount > behind.limit {
                guard catchUp(records: slice.records) else { return }
            }
            let group = waiting.prefix(nextGroup)
            let records = group.reduce(0) { $0 + $1.records.count }
            let began = ContinuousClock.now
            do {
                let isLoad = self.isLoad ?? load.isLoad(records, at: began)
                self.isLoad = isLoad
                // Outputs alone wait for the batches before them, which are durable.
                let rows = records == 0 ? 0 : try commit(group, isLoad: isLoad)
                self.isLoad = nil
                resume()
                if records > 0 { slice.note(commitOf: records) }
                count(group, records: records, rows: rows, took: ContinuousClock.now - began)
            } catch {
                return fail(error)
            }
            waiting.removeFirst(group.count)
            shared.waiting.subtract(group.count, ordering: .relaxed)
            for batch in group { batch.completion(.success(())) }
        }
        planCatchUp()
    }

    /// - Returns: how many rows were written into the tables.
    private func commit(_ group: ArraySlice<Batch>, isLoad: Bool) throws(StoreFailure) -> Int {
        let batches = group.lazy.map(\.records)
        // What has come together under load is brought in by slices, not all before the first commit after it.
        guard isLoad || store.behindCount > behind.records else { return try store.commit(batches: batches) }
        return try store.commitBehind(batches: batches)
    }

    // MARK: Catching up

    private func planCatchUp() {
        let isOverLimit = store.behindCount > behind.limit
        guard !isCatchUpDue || isOverLimit, !isClosed, let since = store.behindSince else { return }
        let timer = catchUpTimer ?? LoopTimer(loop: loop) { [weak self] in self?.catchUpTimeHasCome() }
        catchUpTimer = timer
        isCatchUpDue = true
        let delay = isOverLimit ? .zero : since + behind.delay - ContinuousClock.now
        // A timer that is due at once fires again before libuv (1.44) turns to anything else, commits included.
        timer.start(after: max(.milliseconds(1), delay))
    }

    private func catchUpTimeHasCome() {
        isCatchUpDue = false
        // Tried again when the pause is over.
        guard !isPausing, let since = store.behindSince else { return }
        let isDue = since + behind.delay <= ContinuousClock.now || store.behindCount > behind.limit
        guard !isDue || catchUp(records: slice.records) else { return }
        planCatchUp()
    }

    /// - Returns: false when that failed; it is tried again, and nothing is committed until then.
    @discardableResult
    private func catchUp(records: Int) -> Bool {
        guard store.behindSince != nil else { return true }
        do {
            let rows = try store.catchUp(records: records)
            shared.statistics.withLock { statistics in
                statistics.rows += UInt64(rows)
                noteBehind(in: &statistics)
            }
            // With a commit to try again, that one tells.
            if waiting.isEmpty { resume() }
            return true
        } catch {
            fail(error)
            return false
        }
    }

    /// How many of the waiting batches go into the next transaction: at least one.
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
        // What is behind has failed, or will where the disk is full: readers are not to fall back further.
        guard catchUp(records: .max) else { return }
        commitWaiting()
    }

    private func refuseRest(_ failure: StoreFailure) {
        let rest = waiting
        waiting = []
        shared.waiting.subtract(rest.count, ordering: .relaxed)
        for batch in rest { batch.completion(.failure(failure)) }
    }

    private var closedFailure: StoreFailure {
        StoreFailure(.closed, path: store.folder, detail: "the server is stopping; the batch is not durable")
    }
}

@available(*, unavailable)
extension CommitWorker: Sendable {}
