import Synchronization

/// The counters that all phone threads of a run share. Any thread.
final class RunCounters: Sendable {
    private struct State {
        var (expected, settled, sessions, connected) = (0, 0, 0, 0)
        var noneConnectedSince: ContinuousClock.Instant?
        var (underWay, mostUnderWay) = (0, 0)
    }

    private let state = Mutex(State())

    // MARK: Setup

    /// Adds to the sessions, calls or groups to set up.
    func expect(_ count: Int) { state.withLock { $0.expected += count } }
    /// One of them is set up, or has failed.
    func settle() { state.withLock { $0.settled += 1 } }
    func sessionOpened() { state.withLock { $0.sessions += 1 } }

    var expected: Int { state.withLock { $0.expected } }
    var settled: Int { state.withLock { $0.settled } }
    var sessions: Int { state.withLock { $0.sessions } }

    // MARK: Phones that are always online

    func connected() {
        state.withLock { state in
            state.connected += 1
            state.noneConnectedSince = nil
        }
    }

    func disconnected(at now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            state.connected -= 1
            if state.connected == 0 { state.noneConnectedSince = now }
        }
    }

    /// The time since the last phone was connected; zero before the first. The server counts as gone after a while.
    func noneConnected(at now: ContinuousClock.Instant = .now) -> Duration {
        state.withLock { $0.noneConnectedSince?.duration(to: now) ?? .zero }
    }

    // MARK: Operations

    /// A thread has `change` more operations under way.
    /// - Parameter isCounted: in the measured part, as are then those that were under way until now.
    func underWay(_ change: Int, isCounted: Bool) {
        state.withLock { state in
            if isCounted { state.mostUnderWay = max(state.mostUnderWay, state.underWay, state.underWay + change) }
            state.underWay += change
        }
    }

    /// The most under way at once, over all threads, in the measured part.
    var mostUnderWay: Int { state.withLock { $0.mostUnderWay } }
}
