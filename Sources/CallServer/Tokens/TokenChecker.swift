import ClientTokens
import EventLoop

/// Checks the tokens of one shard's clients. Wake tokens, and JWTs that were verified recently, are checked at once,
/// because a phone opens many sessions with one token. Other JWTs are checked off the loop. Confined to the shard's
/// loop.
final class TokenChecker {
    typealias Result = Swift.Result<TokenAuthority.Verified, TokenAuthority.Refusal>

    /// A weak reference for the check, which must not retain the checker.
    private struct WeakChecker {
        weak var checker: TokenChecker?
    }

    private let authority: TokenAuthority
    private let loop: EventLoop
    private var recent = RecentTokens()
    /// The generation of the keys that verified `recent`.
    private var generation: UInt64
    private var waiting: [UInt64: (Result) -> Void] = [:]
    private var checks: UInt64 = 0

    init(_ authority: TokenAuthority, loop: EventLoop) {
        self.authority = authority
        self.loop = loop
        generation = authority.generation
    }

    /// - Parameter completion: called on the loop, at once or later, unless the checker is released before.
    func check(_ token: String, then completion: @escaping (Result) -> Void) {
        let completion = counting(completion)
        if let result = authority.verifyWakeToken(token) { return completion(result) }
        forgetFormerKeys()
        if let verified = recent.find(token) { return completion(authority.recheck(verified)) }
        checks += 1
        waiting[checks] = completion
        let me = LoopBound(WeakChecker(checker: self), on: loop)
        let number = checks
        authority.verifyWithNewerKeys(token) { result, generation in
            me.loop.execute { me.value.checker?.checked(token, result, number, generation) }
        }
    }

    private func checked(_ token: String, _ result: Result, _ number: UInt64, _ generation: UInt64) {
        forgetFormerKeys()
        if case .success(let verified) = result, generation == self.generation { recent.insert(token, verified) }
        waiting.removeValue(forKey: number)?(result)
    }

    private func counting(_ completion: @escaping (Result) -> Void) -> (Result) -> Void {
        { [counters = authority.counters] result in
            if case .failure(let refusal) = result { counters.count(refusal) }
            completion(result)
        }
    }

    /// Empties the cache when the keys have changed.
    private func forgetFormerKeys() {
        let present = authority.generation
        guard present != generation else { return }
        generation = present
        recent = RecentTokens()
    }
}

@available(*, unavailable)
extension TokenChecker: Sendable {}
