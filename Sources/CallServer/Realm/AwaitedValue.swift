import Synchronization

/// A value that one task waits for. Any thread may give it; the first one stays.
final class AwaitedValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var isCancelled = false
        var waiting: CheckedContinuation<Value?, Never>?
    }

    private let state = Mutex(State())

    func give(_ value: Value) { change { if $0.value == nil { $0.value = value } } }

    /// Returns the value once it is given; nil when the task is cancelled first.
    func wait() async -> Value? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in change { $0.waiting = continuation } }
        } onCancel: {
            change { $0.isCancelled = true }
        }
    }

    /// Changes the state, and resumes the task if its wait is over then.
    private func change(_ body: (inout State) -> Void) {
        let (waiting, value) = state.withLock { state in
            body(&state)
            guard state.value != nil || state.isCancelled else {
                return (nil as CheckedContinuation<Value?, Never>?, nil as Value?)
            }
            defer { state.waiting = nil }
            return (state.waiting, state.value)
        }
        waiting?.resume(returning: value)
    }
}
