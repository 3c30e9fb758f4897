import DequeModule
import StoreInterface
import Synchronization

/// State that a committer's threads share with others.
package final class CommitterState: Sendable {
    package let waiting = Atomic<Int>(0)
    /// When each waiting batch was given, in order.
    package let given = Mutex<Deque<ContinuousClock.Instant>>([])
    package let pages = Mutex(PageCheckStatistics())
    package let failure = Mutex<StoreFailure?>(nil)
    package let statistics = Mutex(CommitStatistics())
    package let retention = Mutex(RetentionStatistics())

    /// The default limit of waiting batches, including those of a failing commit. It covers many seconds at one batch
    /// per turn of the core; only a failing disk makes a server reach it.
    package static let standardCapacity = 4096

    package init() {}

    /// Counts a batch as given.
    /// - Returns: the number of waiting batches, including it.
    package func began() -> Int {
        let now = ContinuousClock.now
        given.withLock { $0.append(now) }
        return waiting.add(1, ordering: .relaxed).newValue
    }

    /// Uncounts the last batch, which was not taken.
    package func refused() {
        given.withLock { _ = $0.popLast() }
        waiting.subtract(1, ordering: .relaxed)
    }

    /// Uncounts the oldest batches, which are completed.
    package func ended(_ count: Int) {
        given.withLock { $0.removeFirst(min(count, $0.count)) }
        waiting.subtract(count, ordering: .relaxed)
    }
}
