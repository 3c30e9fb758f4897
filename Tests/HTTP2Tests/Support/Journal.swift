import Synchronization

/// What happened on a loop, in order, for a test to wait for and look at.
final class Journal<Entry: Sendable>: Sendable {
    struct TimedOut: Error, CustomStringConvertible {
        let waitedFor: String
        let entries: [Entry]
        var description: String { "no \(waitedFor); seen: \(entries.suffix(12))" }
    }

    private struct Waiter: Sendable {
        let isMet: @Sendable ([Entry]) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var entries: [Entry] = []
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())

    var entries: [Entry] { state.withLock { $0.entries } }

    func append(_ entry: Entry) {
        let met = state.withLock { state in
            state.entries.append(entry)
            let met = state.waiters.filter { $0.value.isMet(state.entries) }
            for key in met.keys { state.waiters[key] = nil }
            return met.values.map(\.continuation)
        }
        for continuation in met { continuation.resume(returning: true) }
    }

    /// Waits until the entries meet a condition, and returns them.
    @discardableResult
    func wait(
        for what: String, _ isMet: @escaping @Sendable ([Entry]) -> Bool
    ) async throws -> [Entry] {
        let key = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let timeout = Task {
            try await Task.sleep(for: .seconds(20))
            self.state.withLock { $0.waiters.removeValue(forKey: key) }?.continuation.resume(returning: false)
        }
        defer { timeout.cancel() }
        let isThere = await withCheckedContinuation { continuation in
            let isMetAlready = state.withLock { state in
                if isMet(state.entries) { return true }
                state.waiters[key] = Waiter(isMet: isMet, continuation: continuation)
                return false
            }
            if isMetAlready { continuation.resume(returning: true) }
        }
        guard isThere else { throw TimedOut(waitedFor: what, entries: entries) }
        return entries
    }

    /// Waits for the first entry that `find` makes something of.
    func first<Found: Sendable>(_ what: String, _ find: @escaping @Sendable (Entry) -> Found?) async throws -> Found {
        let entries = try await wait(for: what) { $0.contains { find($0) != nil } }
        // The wait ended because there is one.
        return entries.lazy.compactMap(find).first!
    }
}
