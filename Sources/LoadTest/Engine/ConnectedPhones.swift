import Synchronization

/// How many of the phones that are to be online all the time are connected, over all threads: where there are none any
/// more, the server is gone. Any thread.
final class ConnectedPhones: Sendable {
    private struct State {
        var count = 0
        /// Since when there are none; nil before the first, and while there are any.
        var noneSince: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    func add() {
        state.withLock { state in
            state.count += 1
            state.noneSince = nil
        }
    }

    func remove(at now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            state.count -= 1
            if state.count == 0 { state.noneSince = now }
        }
    }

    /// For how long there have been none, after there were some; zero while there are.
    func noneFor(at now: ContinuousClock.Instant = .now) -> Duration {
        state.withLock { $0.noneSince?.duration(to: now) ?? .zero }
    }
}
