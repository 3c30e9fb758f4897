import Synchronization

/// What has happened so far, from any thread, and a way to wait for something to happen.
public final class Journal<Entry: Sendable>: Sendable {
    public struct TimedOut: Error, CustomStringConvertible {
        public let waitedFor: String
        public let entries: [Entry]
        public var description: String { "waited in vain for \(waitedFor); there is \(entries.suffix(20))" }
    }

    private struct Waiter {
        let condition: @Sendable ([Entry]) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
        let deadline: Task<Void, any Error>
    }

    private struct State {
        var entries: [Entry] = []
        var waiters: [Int: Waiter] = [:]
        var lastID = 0
    }

    private let state = Mutex(State())

    public init() {}

    public var entries: [Entry] { state.withLock { $0.entries } }

    public func append(_ entry: Entry) {
        let ready = state.withLock { state in
            state.entries.append(entry)
            let ready = state.waiters.filter { $0.value.condition(state.entries) }
            for id in ready.keys { state.waiters[id] = nil }
            return ready.values
        }
        for waiter in ready {
            waiter.deadline.cancel()
            waiter.continuation.resume()
        }
    }

    /// Waits until `condition` holds for all entries so far, and returns them.
    /// - Parameter limit: a bound for what never comes: what is waited for comes from real sockets and threads.
    /// - Throws: ``TimedOut`` when it is over.
    @discardableResult
    public func wait(
        for name: String, limit: Duration = .seconds(40), until condition: @escaping @Sendable ([Entry]) -> Bool
    ) async throws -> [Entry] {
        try await withCheckedThrowingContinuation { continuation in
            let isThere = state.withLock { state in
                if condition(state.entries) { return true }
                state.lastID += 1
                let id = state.lastID
                let deadline = Task {
                    try await Task.sleep(for: limit)
                    expire(id, name)
                }
                state.waiters[id] = Waiter(condition: condition, continuation: continuation, deadline: deadline)
                return false
            }
            if isThere { continuation.resume() }
        }
        return entries
    }

    /// Waits for the first entry that `find` makes something of.
    public func first<Found: Sendable>(
        _ name: String, _ find: @escaping @Sendable (Entry) -> Found?
    ) async throws -> Found {
        let entries = try await wait(for: name) { $0.contains { find($0) != nil } }
        // The wait ended because there is one.
        return entries.lazy.compactMap(find).first!
    }

    private func expire(_ id: Int, _ name: String) {
        let (late, entries) = state.withLock { ($0.waiters.removeValue(forKey: id), $0.entries) }
        late?.continuation.resume(throwing: TimedOut(waitedFor: name, entries: entries))
    }
}

extension Journal where Entry: Equatable {
    public func wait(for entry: Entry, limit: Duration = .seconds(40)) async throws {
        try await wait(for: "\(entry)", limit: limit) { $0.contains(entry) }
    }
}
