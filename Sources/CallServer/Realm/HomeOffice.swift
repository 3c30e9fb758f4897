import PostgresStore
import StoreInterface
import Synchronization

/// What a home knows of its office, from the take-over on. May be used from any thread.
struct HomeOffice: Sendable {
    let term: TermView
    /// The database's clock less this machine's at the take-over, in milliseconds.
    let clockOffset: Int64
    private let end = EndBox()

    init(_ store: PostgresStore) {
        term = store.term
        clockOffset = store.clockOffset
        store.whenTermEnds { [end] in end.take($0) }
    }

    /// Returns when this process has to stop being the home; nil when the task is cancelled.
    func termEnd() async -> TermEnd? { await end.wait() }
}

private final class EndBox: Sendable {
    private struct State {
        var end: TermEnd?
        var isCancelled = false
        var waiting: CheckedContinuation<TermEnd?, Never>?
    }

    private let state = Mutex(State())

    func take(_ end: TermEnd) { change { $0.end = end } }

    func wait() async -> TermEnd? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in change { $0.waiting = continuation } }
        } onCancel: {
            change { $0.isCancelled = true }
        }
    }

    /// Changes the state, and resumes who waits if the wait is over then.
    private func change(_ body: (inout State) -> Void) {
        let (waiting, end) = state.withLock { state in
            body(&state)
            guard state.end != nil || state.isCancelled else {
                return (nil as CheckedContinuation<TermEnd?, Never>?, nil as TermEnd?)
            }
            defer { state.waiting = nil }
            return (state.waiting, state.end)
        }
        waiting?.resume(returning: end)
    }
}
