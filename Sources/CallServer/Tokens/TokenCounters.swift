import ClientTokens
import Synchronization

/// Counts checks of user tokens and fetches of key sets since the start. May be used from any thread.
final class TokenCounters: Sendable {
    private let refusals = Mutex<[TokenRefusal.Cause: UInt64]>([:])
    private let fetches = Atomic<UInt64>(0)
    private let failedFetches = Atomic<UInt64>(0)

    func count(_ refusal: TokenRefusal) { refusals.withLock { $0[refusal.cause, default: 0] += 1 } }

    func refusals(_ cause: TokenRefusal.Cause) -> UInt64 { refusals.withLock { $0[cause] ?? 0 } }

    func countFetch(succeeded: Bool) {
        if succeeded { fetches.add(1, ordering: .relaxed) } else { failedFetches.add(1, ordering: .relaxed) }
    }

    var succeededFetches: UInt64 { fetches.load(ordering: .relaxed) }
    var unsuccessfulFetches: UInt64 { failedFetches.load(ordering: .relaxed) }
}
