import CallVocabulary
import StoreInterface
import Synchronization

/// The term of a home: the number of its take-over, and a random id. Two databases that were one may both have given the
/// same number.
package struct TermKey: Equatable, Sendable {
    package let epoch: Int64
    let id: Identifier<TermKey>

    /// A query for the row of `home`, which has none when another process is the home.
    var home: String { "SELECT 1 FROM home WHERE epoch = \(epoch) AND term = '\(id)'" }
}

extension PostgresParameters {
    mutating func bind(_ key: TermKey) {
        bind(key.epoch)
        bind(key.id)
    }
}

/// Why a process has to stop being the home.
package enum TermEnd: Equatable, Sendable {
    /// Another process is the home.
    case fenced(StoreFailure)
    /// The lease was asked for, for another process.
    case handover
}

/// What a home knows of its lease. May be used from any thread.
package struct TermView: Sendable {
    private let lease: LeaseState

    init(_ lease: LeaseState) { self.lease = lease }

    package var key: TermKey { lease.key }

    /// The number of the take-over.
    package var epoch: Int64 { lease.key.epoch }

    /// The database's clock at the boot of this machine, in milliseconds, as the last renewal found it.
    package var clockOrigin: Int64 { lease.clockOrigin }

    /// What is left of it by this process's clock, less the margin; negative when it has run out.
    package var remaining: Duration { lease.remaining }

    /// The names of the processes that stand by, as they were last seen.
    package var standbys: [String] { lease.standbys }

    /// Whether this process is certainly the home.
    package var isHeld: Bool { lease.standing() == .held }
}

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
        var clockOrigin: Int64
        var ended: StoreFailure?
        /// Why the last attempt to renew it failed.
        var failure: StoreFailure?
        var failedAttempts = 0
        var reconnections = 0
        var standbys: [String] = []
        var termEnd: TermEnd?
        var tell: (@Sendable (TermEnd) -> Void)?

        /// - Returns: whom to tell, at the first reason only.
        mutating func note(_ end: TermEnd) -> (@Sendable (TermEnd) -> Void)? {
            guard termEnd == nil else { return nil }
            termEnd = end
            defer { tell = nil }
            return tell
        }
    }

    /// Commits of another term fail.
    let key: TermKey
    private let state: Mutex<State>

    init(_ term: Lease.Term) {
        key = term.key
        state = Mutex(State(validUntil: term.validUntil, clockOrigin: term.clockOrigin))
    }

    func standing(at now: ContinuousClock.Instant = .now) -> Standing {
        state.withLock { state in
            if let failure = state.ended { return .ended(failure) }
            return now < state.validUntil ? .held : .expired(state.failure)
        }
    }

    func renewed(until instant: ContinuousClock.Instant, clockOrigin: Int64?) {
        state.withLock { state in
            state.validUntil = max(state.validUntil, instant)
            if let clockOrigin { state.clockOrigin = clockOrigin }
            state.failure = nil
        }
    }

    var clockOrigin: Int64 { state.withLock { $0.clockOrigin } }

    /// How often the lease's connection was made again. The database may have crashed each time.
    var reconnections: Int { state.withLock { $0.reconnections } }

    func reconnected() { state.withLock { $0.reconnections += 1 } }

    /// Whether the last attempt to renew the lease was answered.
    var isReachable: Bool { state.withLock { $0.failure == nil } }

    /// - Parameter awaitsCause: whether ``explained(_:as:)`` follows. Until then the reason `noSynchronousStandby` is
    ///   kept.
    /// - Returns: the number of the attempt.
    @discardableResult
    func failed(_ failure: StoreFailure, awaitsCause: Bool) -> Int {
        state.withLock { state in
            state.failedAttempts += 1
            if !awaitsCause || state.failure?.reason != .noSynchronousStandby { state.failure = failure }
            return state.failedAttempts
        }
    }

    /// Names the cause of the failure, unless the lease was renewed or another attempt failed meanwhile.
    func explained(_ attempt: Int, as cause: StoreFailure) {
        state.withLock { if $0.failure != nil, $0.failedAttempts == attempt { $0.failure = cause } }
    }

    var standbys: [String] { state.withLock { $0.standbys } }

    func saw(standbys: [String]) { state.withLock { $0.standbys = standbys } }

    var remaining: Duration { state.withLock { $0.validUntil - .now } }

    /// See ``PostgresStore/whenTermEnds(_:)``.
    func whenTermEnds(_ tell: @escaping @Sendable (TermEnd) -> Void) {
        let end = state.withLock { state in
            if state.termEnd == nil { state.tell = tell }
            return state.termEnd
        }
        if let end { tell(end) }
    }

    func askedFor() { state.withLock { $0.note(.handover) }?(.handover) }

    /// - Returns: the failure that ended it first.
    @discardableResult
    func end(_ failure: StoreFailure) -> StoreFailure {
        let (first, tell) = state.withLock { state in
            let first = state.ended ?? failure
            state.ended = first
            // Without the commits that it has acknowledged, no process may go on by itself. Once another one has, the
            // home that lacks them stands by.
            let isFenced = failure.reason == .fenced && first.reason != .closed
            return (first, isFenced ? state.note(.fenced(failure)) : nil)
        }
        tell?(.fenced(failure))
        return first
    }
}
