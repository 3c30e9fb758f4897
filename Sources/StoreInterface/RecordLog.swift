import CallCore
import CallVocabulary

/// Makes batches of records durable in the order in which they are given: the write side of a store.
///
/// Any thread may use it. It is ended with ``close()``.
public protocol RecordLog: Sendable {
    /// Makes `batch` durable, then calls `completion` on the log's thread.
    ///
    /// Completions are called in the order of the batches. A write that fails is repeated until it succeeds, and the
    /// batches behind it wait. `completion` gets a failure only when the log is closed first. It should only pass on
    /// the result, because the next commit waits for it.
    /// - Returns: false when too many batches wait already, or the log is closed. The batch is then not accepted, and
    ///   `completion` is not called.
    func commit(
        batch: [StoreRecord], then completion: @escaping @Sendable (Result<CommitReceipt, StoreFailure>) -> Void
    ) -> Bool

    /// Makes all durable records visible to ``StoreQueries``.
    /// - Parameter completion: called on the log's thread, with whether the records are visible; called at once, with
    ///   false, when the log is closed.
    func settle(_ completion: @escaping @Sendable (_ isSettled: Bool) -> Void)

    /// The most batches that may wait to become durable, and the number that waits.
    var capacity: Int { get }
    var waiting: Int { get }

    /// When the oldest batch that is not durable yet was passed to ``commit(batch:then:)``; nil when all are durable.
    var waitingSince: ContinuousClock.Instant? { get }

    /// Why commits fail now; nil while they succeed.
    var failure: StoreFailure? { get }

    /// Whether this process certainly writes the store, so that outputs without records may be released now. Otherwise
    /// they go through ``commit(batch:then:)``, with no record.
    var mayRelease: Bool { get }

    var statistics: CommitStatistics { get }
    var retention: RetentionStatistics { get }
    var pages: PageCheckStatistics { get }

    /// Deletes records by age, and checks the stored data for damage, from time to time from now on.
    /// - Parameters:
    ///   - now: the wall clock; called on a thread of the log.
    ///   - onDamage: called when a check finds damage and the one before did not, on a thread of the log.
    func startMaintenance(
        _ policy: RetentionPolicy, now: @escaping @Sendable () -> Instant,
        onDamage: @escaping @Sendable (StoreFailure) -> Void)

    /// Makes the waiting batches durable, with one last attempt if commits fail at present, and ends the log's threads.
    /// Batches that could not be made durable are completed with the failure.
    func close() async
}

extension RecordLog {
    /// Whether commits succeed now. Part of readiness.
    public var isHealthy: Bool { failure == nil }

    /// No other process can write a store in a folder that is locked.
    public var mayRelease: Bool { true }

    /// Returns when the earlier batches are completed and visible to queries, or have failed.
    public func flush() async {
        await withCheckedContinuation { continuation in settle { _ in continuation.resume() } }
    }
}
