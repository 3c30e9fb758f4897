import CallCore
import CallVocabulary

/// Makes batches of records durable in the order in which they are given: the write side of a store.
///
/// Any thread may use it. It is ended with ``close()``.
public protocol RecordLog: Sendable {
    /// Has `batch` made durable and then calls `completion`, on the log's thread.
    ///
    /// Completions are called in the order of the batches. A write that fails is repeated until it succeeds, and the
    /// batches behind it wait. `completion` gets a failure only when the log is closed first. It should only hand the
    /// result on: the next commit waits for it.
    /// - Returns: false when too many batches wait already, or the log is closed. Nothing was taken then, and
    ///   `completion` is not called.
    func commit(
        batch: [StoreRecord], then completion: @escaping @Sendable (Result<CommitReceipt, StoreFailure>) -> Void
    ) -> Bool

    /// Brings all durable records where ``StoreQueries`` see them.
    /// - Parameter completion: called on the log's thread with whether it is done; at once, with false, when the log is
    ///   closed.
    func settle(_ completion: @escaping @Sendable (_ isSettled: Bool) -> Void)

    /// The most batches that may wait to become durable, and how many do.
    var capacity: Int { get }
    var waiting: Int { get }

    /// When the oldest batch that is not durable was given; nil when all are.
    var waitingSince: ContinuousClock.Instant? { get }

    /// Why commits fail now; nil while they succeed.
    var failure: StoreFailure? { get }

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

    /// Makes what waits durable, in one last attempt if commits fail at present, and ends the log's threads. Batches that
    /// could not be made durable are completed with the failure.
    func close() async
}

extension RecordLog {
    /// Whether commits succeed now. Part of readiness.
    public var isHealthy: Bool { failure == nil }

    /// Returns once the batches given before are completed and visible to queries, or were tried in vain.
    public func flush() async {
        await withCheckedContinuation { continuation in settle { _ in continuation.resume() } }
    }
}
