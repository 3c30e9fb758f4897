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
    private var retention: RetentionRunner?
    private var isClosed = false

    init(
        store: CallStore, loop: EventLoop, shared: CommitterState,
        onHealth: @escaping @Sendable (StoreFailure?) -> Void
    ) {
        self.onHealth = onHealth
        self.store = store
        self.loop = loop
        self.shared = shared
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
        retention = nil
        isClosed = true
        commitWaiting()
        refuseRest(shared.failure.withLock { $0 } ?? closedFailure)
        store.close()
    }

    private func commitWaiting() {
        while !waiting.isEmpty {
            let group = waiting.prefix(nextGroup)
            let began = ContinuousClock.now
            do {
                let rows = try store.commit(batches: group.lazy.map(\.records))
                resume()
                count(group, rows: rows, took: ContinuousClock.now - began)
            } catch {
                return fail(error)
            }
            waiting.removeFirst(group.count)
            shared.waiting.subtract(group.count, ordering: .relaxed)
            for batch in group { batch.completion(.success(())) }
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

    private func count(_ group: ArraySlice<Batch>, rows: Int, took duration: Duration) {
        let records = group.reduce(0) { $0 + $1.records.count }
        shared.statistics.withLock { statistics in
            statistics.commits += 1
            statistics.batches += UInt64(group.count)
            statistics.records += UInt64(records)
            statistics.rows += UInt64(rows)
            statistics.largestGroup = max(statistics.largestGroup, group.count)
            statistics.latency.add(duration)
            statistics.groupSizes.add(group.count)
        }
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
