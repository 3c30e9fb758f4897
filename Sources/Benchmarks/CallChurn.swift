import CallVocabulary
import SoftphoneKit
import SoftphoneSession
import Synchronization

/// Pairs of phones that call each other, one call of a pair after the other. Any thread.
final class CallChurn: Sendable {
    private struct State {
        var completed = 0
        var failure: (any Error)?
    }

    private let state = Mutex(State())
    private let tasks = Mutex<[Task<Void, Never>]>([])
    private let phones: [Softphone]

    init(_ pairs: [(Softphone, Softphone)], pace: Duration) {
        phones = pairs.flatMap { [$0.0, $0.1] }
        tasks.withLock { tasks in
            tasks = pairs.map { left, right in
                Task { await self.call(from: left, to: right, pace) }
            }
        }
    }

    /// Calls made, answered and ended so far.
    /// - Throws: What the first pair that gave up failed with.
    func completed() throws -> Int {
        let (completed, failure) = state.withLock { ($0.completed, $0.failure) }
        if let failure { throw failure }
        return completed
    }

    func stop() async {
        let tasks = tasks.withLock { $0 }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        for phone in phones { phone.abandon() }
    }

    /// Until it is cancelled, or something fails.
    private func call(from left: Softphone, to right: Softphone, _ pace: Duration) async {
        do {
            let callee = try await right.connect().user
            var events = right.events().makeAsyncIterator()
            while !Task.isCancelled {
                let began = ContinuousClock.now
                let call = try await left.call(.user(callee))
                try await wait(for: call, &events)
                try await right.answer(call)
                try await left.hangup(call)
                state.withLock { $0.completed += 1 }
                try await Task.sleep(until: began + pace)
            }
        } catch {
            if !Task.isCancelled { state.withLock { $0.failure = $0.failure ?? error } }
        }
    }

    private func wait(for call: CallID, _ events: inout AsyncStream<SoftphoneEvent>.Iterator) async throws {
        while let event = await events.next() {
            if case .incoming(let seen, _) = event, seen.id == call { return }
        }
        throw BenchmarkError("a phone got no more events")
    }
}
