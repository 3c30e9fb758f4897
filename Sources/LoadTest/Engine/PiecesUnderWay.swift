import Synchronization

/// How many pieces are under way over all threads, and the most there were at once in the part that counts: the sum of
/// what each thread had at most would be of no one moment. Any thread.
final class PiecesUnderWay: Sendable {
    private struct State {
        var count = 0
        var most = 0
    }

    private let state = Mutex(State())

    /// The most at once in the part that counts.
    var most: Int { state.withLock { $0.most } }

    /// A thread has `change` more, or fewer.
    /// - Parameter isCounted: whether this is in the part that counts; then so is what was under way until now.
    func add(_ change: Int, isCounted: Bool) {
        state.withLock { state in
            if isCounted { state.most = max(state.most, state.count, state.count + change) }
            state.count += change
        }
    }
}
