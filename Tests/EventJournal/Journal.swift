import Synchronization

/// What has happened so far, from any thread, and a way to wait for something to happen.
public final class Journal<Entry: Sendable>: Sendable {
    public struct TimedOut: Error, CustomStringConvertible {
        public let waitedFor: String
        public let entries: [Entry]
        public var description: String { "waited in vain for \(waitedFor); there is \(entries.suffix(20))" }
    }

    private struct Waiter {
        let id: Int
        let condition: @Sendable ([Entry]) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var entries: [Entry] = []
        var waiters: [Waiter] = []
        var lastID = 0
    }

    private let state = Mutex(State())

    public init() {}

    public var entries: [Entry] { state.withLock { $0.entries } }

    public func append(_ entry: Entry) {
        let ready = state.withLock { state in
            state.entries.append(entry)
            let ready = state.waiters.filter { $0.condition(state.entries) }
            state.waiters.removeAll { waiter in ready.contains { $0.id == waiter.id } }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Returns once `condition` holds for all entries so far, or throws after `limit`.
    public func wait(
        for name: String, limit: Duration = .seconds(10), until condition: @escaping @Sendable ([Entry]) -> Bool
    ) async throws {
        try await withCheckedThrowingContinuation { continuation in
            let id: Int? = state.withLock { state in
                if condition(state.entries) { return nil }
                state.lastID += 1
                state.waiters.append(Waiter(id: state.lastID, condition: condition, continuation: continuation))
                return state.lastID
            }
            guard let id else { return continuation.resume() }
            Task {
                try await Task.sleep(for: limit)
                expire(id, name)
            }
        }
    }

    private func expire(_ id: Int, _ name: String) {
        let (late, entries) = state.withLock { state in
            let index = state.waiters.firstIndex { $0.id == id }
            return (index.map { state.waiters.remove(at: $0) }, state.entries)
        }
        late?.continuation.resume(throwing: TimedOut(waitedFor: name, entries: entries))
    }
}

extension Journal where Entry: Equatable {
    public func wait(for entry: Entry, limit: Duration = .seconds(10)) async throws {
        try await wait(for: "\(entry)", limit: limit) { $0.contains(entry) }
    }
}
