import ClientTokens
import EventLoop
import LibWebSockets
import WebSocketServer

/// Checks the tokens of one shard's clients. Wake tokens, and JWTs that were verified recently, are checked at once,
/// because a phone opens many sessions with one token. Other JWTs are checked off the loop. Confined to the shard's
/// loop.
final class TokenChecker {
    typealias Result = Swift.Result<TokenAuthority.Verified, Failure>

    enum Failure: Error {
        case refused(TokenAuthority.Refusal)
        /// The client's address has had too many tokens refused; this one was not looked at.
        case tooMany(retryAfter: Duration)
        /// No known key has signed it, and the identity provider may have only just made its key.
        case unsettled(retryAfter: Duration)

        init(_ refusal: TokenAuthority.Refusal, after fetch: KeyFetch) {
            if refusal.isForNewerKeys, let wait = fetch.retryAfter {
                self = .unsettled(retryAfter: wait)
            } else {
                self = .refused(refusal)
            }
        }
    }

    /// A weak reference for the check, which must not retain the checker.
    private struct WeakChecker {
        weak var checker: TokenChecker?
    }

    private let authority: TokenAuthority
    private let loop: EventLoop
    private let failures: RateLimiter
    private var recent = RecentTokens()
    /// The generation of the keys that verified `recent`.
    private var generation: UInt64
    private var waiting: [UInt64: (Result) -> Void] = [:]
    private var checks: UInt64 = 0

    /// - Parameter failures: limits refused tokens by address.
    init(_ authority: TokenAuthority, loop: EventLoop, failures: RateLimiter) {
        self.failures = failures
        self.authority = authority
        self.loop = loop
        generation = authority.generation
    }

    /// - Parameters:
    ///   - network: the client's key for limits by address; nil for an address without one.
    ///   - completion: called on the loop, at once or later, unless the checker is released before.
    func check(_ token: String, from network: PeerAddress?, then completion: @escaping (Result) -> Void) {
        let completion = counting(network, completion)
        // Known tokens and those of pushes are served whatever comes from the same address: neither costs a signature.
        if let result = authority.verifyWakeToken(token) { return completion(result.mapError { .refused($0) }) }
        forgetFormerKeys()
        if let verified = recent.find(token) {
            return completion(authority.recheck(verified).mapError { .refused($0) })
        }
        if let network, let wait = failures.wait(networks: network, now: Int64(loop.milliseconds)) {
            return completion(.failure(.tooMany(retryAfter: failures.spread(wait))))
        }
        checks += 1
        waiting[checks] = completion
        verify(token, checks)
    }

    private func verify(_ token: String, _ number: UInt64) {
        let me = LoopBound(WeakChecker(checker: self), on: loop)
        authority.verifyWithNewerKeys(token) { result, generation in
            me.loop.execute { me.value.checker?.checked(token, result, number, generation) }
        }
    }

    private func checked(_ token: String, _ result: Result, _ number: UInt64, _ generation: UInt64) {
        forgetFormerKeys()
        if case .success(let verified) = result {
            // The key may have been removed meanwhile, and the sessions of a removed key were ended without this one.
            guard generation == self.generation else { return verify(token, number) }
            recent.insert(token, verified)
        }
        waiting.removeValue(forKey: number)?(result)
    }

    private func counting(
        _ network: PeerAddress?, _ completion: @escaping (Result) -> Void
    ) -> (Result) -> Void {
        { [counters = authority.counters, failures, loop] result in
            switch result {
            case .success, .failure(.tooMany): completion(result)
            case .failure(.refused(let refusal)):
                counters.count(refusal)
                if let network { failures.charge(networks: network, now: Int64(loop.milliseconds)) }
                completion(result)
            case .failure(.unsettled(let wait)):
                if let network { failures.charge(networks: network, now: Int64(loop.milliseconds)) }
                completion(.failure(.unsettled(retryAfter: failures.spread(wait))))
            }
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
