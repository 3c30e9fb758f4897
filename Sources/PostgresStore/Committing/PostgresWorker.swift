import CallCore
import DequeModule
import EventLoop
import RecordTables
import StoreInterface
import Synchronization

/// The part of a ``PostgresCommitter`` that is confined to its thread.
final class PostgresWorker {
    struct Batch: Sendable {
        var records: [StoreRecord]
        var completion: @Sendable (Result<CommitReceipt, StoreFailure>) -> Void
    }

    private struct Settling {
        var last: Int64
        var completion: @Sendable (Bool) -> Void
    }

    /// A commit with this many records takes no further batch, so that the first batches of a long queue need not wait
    /// for the last.
    private static let recordsPerCommit = 8192
    /// The first pause after a failure, which doubles with each, and the longest.
    static let standardPauses = Duration.milliseconds(50)...Duration.seconds(5)

    private let store: PostgresStore
    private let loop: EventLoop
    /// The loop of the thread that applies the journal to the tables.
    private let tablesLoop: EventLoop
    private let shared: CommitterState
    private let onHealth: @Sendable (StoreFailure?) -> Void
    private let behind: WriteBehind
    private var load: LoadGauge
    private var isLoad = false
    /// Batches that are not durable yet, in order.
    private var waiting: [Batch] = []
    /// Durable batches that are not completed while the lease is in doubt.
    private var undelivered: [Batch] = []
    private var settling: [Settling] = []

    private var commitFailure: StoreFailure?
    private var tablesFailure: StoreFailure?
    private var leaseFailure: StoreFailure?
    /// Created when first needed; released on the thread, by ``close()``.
    private var commitTimer: LoopTimer?
    private var isPausing = false
    private let pauses: ClosedRange<Duration>
    private var commitPause: Duration
    private var tablesTimer: LoopTimer?
    private var isCatchUpDue = false
    private var tablesPause: Duration
    /// Whether the tables' thread is applying the journal.
    private var isCatchingUp = false
    /// Set by ``close()``, and when another process is the home.
    private var isClosed = false
    private var knownReconnections = 0

    init(
        store: PostgresStore, loop: EventLoop, tablesLoop: EventLoop, shared: CommitterState, behind: WriteBehind,
        pauses: ClosedRange<Duration>, onHealth: @escaping @Sendable (StoreFailure?) -> Void
    ) {
        self.store = store
        self.loop = loop
        self.tablesLoop = tablesLoop
        self.shared = shared
        self.behind = behind
        self.pauses = pauses
        (commitPause, tablesPause) = (pauses.lowerBound, pauses.lowerBound)
        self.onHealth = onHealth
        load = LoadGauge(behind)
    }

    func take(_ batches: inout [Batch]) {
        waiting += batches
        if isClosed {
            refuseAll(shared.failure.withLock { $0 } ?? closedFailure)
        } else if !isPausing {
            commitWaiting()
        }
    }

    // MARK: Committing

    private func commitWaiting() {
        // With too much that the tables lack, the next part of it comes first.
        while !waiting.isEmpty, store.behindCount <= behind.limit {
            var group = waiting.prefix(nextGroup)
            let began = ContinuousClock.now
            if recordCount(group) > 0 {
                do throws(StoreFailure) {
                    if commitFailure == nil { isLoad = load.isLoad(recordCount(group), at: began) }
                    group = group.prefix(try store.write(group.map(\.records)))
                } catch {
                    return fail(error)
                }
            }
            commitPause = pauses.lowerBound
            commitFailure = nil
            count(group, took: ContinuousClock.now - began)
            undelivered += group
            waiting.removeFirst(group.count)
            deliver()
        }
        planCatchUp()
    }

    /// Completes the durable batches, as long as this process is certainly the home.
    private func deliver() {
        switch store.lease.standing() {
        case .held:
            leaseFailure = nil
            updateHealth()
            let batches = undelivered
            undelivered = []
            shared.ended(batches.count)
            for batch in batches { batch.completion(.success(CommitReceipt())) }
        case .expired(let failure):
            leaseFailure =
                failure
                ?? StoreFailure(
                    .leaseExpired, path: store.address.description, detail: "the lease of the realm was not renewed")
            updateHealth()
        case .ended(let failure): end(failure)
        }
    }

    /// The lease was renewed, or not.
    func leaseHasChanged() {
        guard !isClosed else { return }
        deliver()
        let reconnections = store.lease.reconnections
        guard reconnections != knownReconnections, !isClosed else { return }
        knownReconnections = reconnections
        retryNow()
        // Without commits nothing else would find that a crash has undone the last writes to the tables.
        let (worker, tables) = (LoopBound(self, on: loop), store.tables)
        tablesLoop.execute {
            guard (try? tables.recheck()) == nil else { return }
            // The next renewal tries again.
            worker.loop.execute { worker.value.knownReconnections = -1 }
        }
    }

    /// The database is back: what has failed does not wait for the end of its pause.
    private func retryNow() {
        guard case .held = store.lease.standing() else { return }
        if isPausing {
            commitPause = pauses.lowerBound
            commitTimer?.start(after: .zero)
        }
        if isCatchUpDue {
            tablesPause = pauses.lowerBound
            tablesTimer?.start(after: .zero)
        }
    }

    /// The number of waiting batches for the next commit, at least one.
    private var nextGroup: Int {
        var records = 0
        for (index, batch) in waiting.enumerated() {
            records += batch.records.count
            if records >= Self.recordsPerCommit { return index + 1 }
        }
        return waiting.count
    }

    private func recordCount(_ group: ArraySlice<Batch>) -> Int { group.reduce(0) { $0 + $1.records.count } }

    private func count(_ group: ArraySlice<Batch>, took duration: Duration) {
        shared.statistics.withLock { statistics in
            statistics.commits += 1
            statistics.batches += UInt64(group.count)
            statistics.records += UInt64(recordCount(group))
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

    private func fail(_ failure: StoreFailure) {
        shared.statistics.withLock { $0.failures += 1 }
        if case .ended(let failure) = store.lease.standing() { return end(failure) }
        commitFailure = failure
        updateHealth()
        guard !isClosed else { return }
        let timer =
            commitTimer
            ?? LoopTimer(loop: loop) { [weak self] in
                self?.isPausing = false
                self?.commitWaiting()
            }
        commitTimer = timer
        timer.start(after: commitPause)
        isPausing = true
        commitPause = min(commitPause * 2, pauses.upperBound)
    }

    private func updateHealth() {
        guard !isClosed else { return }
        report(commitFailure ?? tablesFailure ?? leaseFailure)
    }

    private func report(_ failure: StoreFailure?) {
        let was = shared.failure.withLock { known in
            defer { known = failure }
            return known
        }
        // What ends a server for good is told by its end.
        if (was == nil) != (failure == nil) || was?.reason != failure?.reason && failure?.reason != .fenced {
            onHealth(failure)
        }
    }

    /// Another process is the home, or the database has lost commits: nothing is released from now on.
    private func end(_ failure: StoreFailure) {
        guard !isClosed else { return }
        report(failure)
        stop()
        refuseAll(failure)
    }

    private func refuseAll(_ failure: StoreFailure) {
        let rest = undelivered + waiting
        (undelivered, waiting) = ([], [])
        shared.ended(rest.count)
        for batch in rest { batch.completion(.failure(failure)) }
    }

    // MARK: Applying the journal

    /// Has the present journal applied to the tables.
    /// - Parameter completion: called on this thread, with whether it is applied.
    func settle(_ completion: @escaping @Sendable (Bool) -> Void) {
        guard !isClosed, commitFailure == nil, tablesFailure == nil else { return completion(false) }
        guard let last = store.lastBehind else { return flush([Settling(last: 0, completion: completion)]) }
        settling.append(Settling(last: last, completion: completion))
        catchUp(records: .max)
    }

    /// Without load the tables are written at once, in parallel with the next commit.
    private func planCatchUp() {
        guard !isCatchUpDue, !isCatchingUp, !isClosed, let since = store.behindSince else { return }
        let isUrgent = !isLoad || store.behindCount > behind.limit || !settling.isEmpty
        let delay = isUrgent ? .zero : since + behind.delay - ContinuousClock.now
        guard delay > .zero, tablesFailure == nil else {
            return catchUp(records: settling.isEmpty ? behind.records : .max)
        }
        wait(delay)
    }

    private func wait(_ delay: Duration) {
        let timer =
            tablesTimer
            ?? LoopTimer(loop: loop) { [weak self] in
                guard let self else { return }
                isCatchUpDue = false
                catchUp(records: behind.records)
            }
        tablesTimer = timer
        isCatchUpDue = true
        timer.start(after: max(.milliseconds(1), delay))
    }

    private func catchUp(records: Int) {
        guard !isCatchingUp, !isClosed else { return }
        let (worker, tables) = (LoopBound(self, on: loop), store.tables)
        isCatchingUp = tablesLoop.execute {
            let result = Result { () throws(StoreFailure) in try tables.catchUp(records: records) }
            worker.loop.execute { worker.value.caughtUp(result) }
        }
    }

    private func caughtUp(_ result: Result<Settled?, StoreFailure>) {
        isCatchingUp = false
        guard !isClosed else { return }
        switch result {
        case .success(let settled):
            store.note(settled)
            tablesFailure = nil
            tablesPause = pauses.lowerBound
            shared.statistics.withLock { statistics in
                statistics.rows += UInt64(settled?.rows ?? 0)
                noteBehind(in: &statistics)
            }
            completeSettling()
            updateHealth()
            if !isPausing { commitWaiting() } else { planCatchUp() }
        case .failure(let failure):
            tablesFailure = failure
            shared.statistics.withLock { $0.failures += 1 }
            for settling in settling { settling.completion(false) }
            settling = []
            updateHealth()
            wait(tablesPause)
            tablesPause = min(tablesPause * 2, pauses.upperBound)
        }
    }

    private func completeSettling() {
        let first = store.firstBehind ?? .max
        let done = settling.filter { $0.last < first }
        settling.removeAll { $0.last < first }
        flush(done)
    }

    /// What is settled must be in the tables after a crash of the database too.
    private func flush(_ done: [Settling]) {
        guard !done.isEmpty else { return }
        let (loop, tables) = (loop, store.tables)
        @Sendable func complete(_ isFlushed: Bool) { for settling in done { settling.completion(isFlushed) } }
        let isUnderWay = tablesLoop.execute {
            let isFlushed = (try? tables.flush()) != nil
            if !loop.execute({ complete(isFlushed) }) { complete(false) }
        }
        if !isUnderWay { complete(false) }
    }

    // MARK: Closing

    /// Makes a last attempt to commit; fails the batches that remain.
    func close() {
        if !isClosed {
            isPausing = false
            commitWaiting()
            let failure = shared.failure.withLock { $0 }
            stop()
            refuseAll(failure ?? closedFailure)
        }
        store.closeConnections()
    }

    private func stop() {
        isClosed = true
        commitTimer = nil
        tablesTimer = nil
        for settling in settling { settling.completion(false) }
        settling = []
    }

    private var closedFailure: StoreFailure {
        StoreFailure(
            .closed, path: store.address.description, detail: "the server is stopping; the batch may not be durable")
    }
}

@available(*, unavailable)
extension PostgresWorker: Sendable {}
