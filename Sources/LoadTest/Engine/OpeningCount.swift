import Synchronization

/// How far the opening of sessions is, over all threads. Any thread.
final class OpeningCount: Sendable {
    private let doneCount = Atomic<Int>(0)
    private let allCount = Atomic<Int>(0)
    private let sessionCount = Atomic<Int>(0)

    /// So many more are to be opened, or set up.
    func expect(_ count: Int) { allCount.add(count, ordering: .relaxed) }
    /// One more is there, or has failed to.
    func settled() { doneCount.add(1, ordering: .relaxed) }
    /// One more session is open.
    func sessionOpened() { sessionCount.add(1, ordering: .relaxed) }

    var done: Int { doneCount.load(ordering: .relaxed) }
    var sessions: Int { sessionCount.load(ordering: .relaxed) }
    var all: Int { allCount.load(ordering: .relaxed) }
}
