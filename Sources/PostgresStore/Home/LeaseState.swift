import StoreInterface
import Synchronization

/// Whether this process is the realm's home, for all its threads.
final class LeaseState: Sendable {
    enum Standing: Equatable {
        case held
        /// The lease is about to end, or has ended, and was not taken by another process as far as is known.
        case expired(StoreFailure?)
        /// For good.
        case ended(StoreFailure)
    }

    private struct State {
        var validUntil: ContinuousClock.Instant
        var ended: StoreFailure?
        /// Why the last attempt to renew it failed.
        var failure: StoreFailure?
        var reconnections = 0
    }

    /// The term of office. Commits of an earlier one fail.
    let epoch: Int64
    private let state: Mutex<State>

    init(epoch: Int64, validUntil: ContinuousClock.Instant) {
        self.epoch = epoch
        state = Mutex(State(validUntil: validUntil))
    }

    func standing(at now: ContinuousClock.Instant = .now) -> Standing {
        state.withLock { state in
            if let failure = state.ended { return .ended(failure) }
            return now < state.validUntil ? .held : .expired(state.failure)
        }
    }

    func renewed(until instant: ContinuousClock.Instant) {
        state.withLock { state in
            state.validUntil = max(state.validUntil, instant)
            state.failure = nil
        }
    }

    /// How often the lease's connection was made again. The database may have crashed each time.
    var reconnections: Int { state.withLock { $0.reconnections } }

    func reconnected() { state.withLock { $0.reconnections += 1 } }

    func failed(_ failure: StoreFailure) { state.withLock { $0.failure = failure } }

    /// - Returns: the failure that ended it first.
    @discardableResult
    func end(_ failure: StoreFailure) -> StoreFailure {
        state.withLock { state in
            state.ended = state.ended ?? failure
            return state.ended ?? failure
        }
    }
}
