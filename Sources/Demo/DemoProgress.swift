import CallVocabulary
import PhoneSimulator
import SoftphoneKit
import SoftphoneSession
import Synchronization

/// The progress of the demo's call, from its phones' events.
final class DemoProgress: Sendable {
    enum Milestone: Hashable {
        case ringing, answered, connected, ended, asleep
    }

    /// An event of one side. A milestone may need events of both.
    private enum Sign: Hashable {
        case callerRinging, calleeRinging, callerAnswered, callerConnected, calleeConnected, callerEnded, calleeEnded
        case calleeAsleep
    }

    private struct State {
        var signs: Set<Sign> = []
        var waiters: [(milestone: Milestone, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state = Mutex(State())

    func caller(_ event: SoftphoneEvent) {
        switch event {
        case .state(let call) where call.state == .ringing: add(.callerRinging)
        case .state(let call) where call.state == .answered: add(.callerAnswered)
        case .state(let call) where call.state == .connected: add(.callerConnected)
        case .ended: add(.callerEnded)
        case .incoming, .offer, .state, .merged, .candidates, .update, .peer, .latePush, .connection, .draining: break
        }
    }

    func callee(_ event: WakeablePhone.Event) {
        switch event {
        case .woken: state.withLock { _ = $0.signs.remove(.calleeAsleep) }
        case .app(.incoming): add(.calleeRinging)
        case .app(.state(let call)) where call.state == .connected: add(.calleeConnected)
        case .app(.ended): add(.calleeEnded)
        case .asleep: add(.calleeAsleep)
        case .app, .pushed, .notified, .reportedToSystem, .reportedToServer, .workerSent, .killed, .failed,
            .unreachable:
            break
        }
    }

    /// - Returns: false when the time limit passed first.
    func reached(_ milestone: Milestone, within limit: Duration) async -> Bool {
        var timeout: Task<Void, any Error>?
        defer { timeout?.cancel() }
        return await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if Self.isReached(milestone, state.signs) { return true }
                state.waiters.append((milestone, continuation))
                return false
            }
            if isReached { return continuation.resume(returning: true) }
            // After the waiter is stored, so that the timeout finds it.
            timeout = Task {
                try await Task.sleep(for: limit)
                giveUp(milestone)
            }
        }
    }

    private func add(_ sign: Sign) {
        let reached = state.withLock { state in
            state.signs.insert(sign)
            let reached = state.waiters.filter { Self.isReached($0.milestone, state.signs) }
            state.waiters.removeAll { Self.isReached($0.milestone, state.signs) }
            return reached
        }
        for waiter in reached { waiter.continuation.resume(returning: true) }
    }

    private func giveUp(_ milestone: Milestone) {
        let given = state.withLock { state in
            let given = state.waiters.filter { $0.milestone == milestone }
            state.waiters.removeAll { $0.milestone == milestone }
            return given
        }
        for waiter in given { waiter.continuation.resume(returning: false) }
    }

    private static func isReached(_ milestone: Milestone, _ signs: Set<Sign>) -> Bool {
        switch milestone {
        case .ringing: signs.isSuperset(of: [.callerRinging, .calleeRinging])
        case .answered: signs.contains(.callerAnswered)
        case .connected: signs.isSuperset(of: [.callerConnected, .calleeConnected])
        case .ended: signs.isSuperset(of: [.callerEnded, .calleeEnded])
        // The phone also slept after its setup; only the sleep after the call counts.
        case .asleep: signs.isSuperset(of: [.calleeEnded, .calleeAsleep])
        }
    }
}
