import Synchronization

/// A list of events in order of arrival that a test can wait on. Any thread.
final class Journal<Entry: Sendable>: Sendable {
    private struct Waiter {
        let id: Int
        /// Called with nil at the timeout. Returns whether the wait is over.
        let offer: @Sendable (Entry?) -> Bool
    }

    private struct State {
        var entries: [Entry] = []
        var waiters: [Waiter] = []
        var lastWaiter = 0
    }

    private let state = Mutex(State())

    var entries: [Entry] { state.withLock { $0.entries } }
    var count: Int { state.withLock { $0.entries.count } }

    func add(_ entry: Entry) {
        state.withLock { state in
            state.entries.append(entry)
            state.waiters.removeAll { $0.offer(entry) }
        }
    }

    /// The first entry, past or future, for which `pick` returns a value.
    /// - Parameters:
    ///   - what: the description for the error.
    ///   - start: the index of the first entry to consider.
    @discardableResult
    func first<Value: Sendable>(
        _ what: String, from start: Int = 0, within limit: Duration = .seconds(40),
        _ pick: @escaping @Sendable (Entry) -> Value?
    ) async throws -> Value {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        var timeout: Task<Void, any Error>?
        defer { timeout?.cancel() }
        let value: Value? = await withCheckedContinuation { continuation in
            state.withLock { state in
                for entry in state.entries.dropFirst(start) {
                    if let value = pick(entry) { return continuation.resume(returning: value) }
                }
                state.waiters.append(
                    Waiter(id: id) { entry in
                        let value = entry.flatMap(pick)
                        if entry == nil || value != nil { continuation.resume(returning: value) }
                        return value != nil
                    })
            }
            // After the waiter is stored, so that the timeout finds it.
            timeout = Task {
                try await Task.sleep(for: limit)
                giveUp(id)
            }
        }
        guard let value else { throw InVain(what: what, seen: entries.map { "\($0)" }) }
        return value
    }

    private func giveUp(_ id: Int) {
        state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return }
            _ = state.waiters.remove(at: index).offer(nil)
        }
    }
}

/// A timeout.
struct InVain: Error, CustomStringConvertible {
    let what: String
    var seen: [String] = []
    var description: String {
        "waited in vain: \(what)" + (seen.isEmpty ? "" : "; seen:\n  " + seen.joined(separator: "\n  "))
    }
}

/// Polls until `condition` returns a value, for states without an event.
@inline(never)  // Swift 6.3.1 crashes when it optimizes this into its callers.
func eventually<Value>(
    _ what: String, within limit: Duration = .seconds(40), _ condition: () async throws -> Value?
) async throws -> Value {
    let clock = ContinuousClock()
    let end = clock.now + limit
    while clock.now < end {
        if let value = try await condition() { return value }
        try await Task.sleep(for: .milliseconds(10))
    }
    throw InVain(what: what)
}
