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
    private var waiting: [UInt64: (Result) -> Void] = [:]
    private var checks: UInt64 = 0

    init(_ authority: TokenAuthority, loop: EventLoop) {
        self.authority = authority
        self.loop = loop
    }

    /// - Parameter completion: called on the loop, at once or later, unless the checker is released before.
    func check(_ token: String, then completion: @escaping (Result) -> Void) {
        if let result = authority.verifyWakeToken(token) { return completion(result) }
        if let verified = recent.find(token) { return completion(authority.recheck(verified)) }
        checks += 1
        waiting[checks] = completion
        let me = LoopBound(WeakChecker(checker: self), on: loop)
        Task { [authority, number = checks] in
            let result: Result
            do throws(TokenAuthority.Refusal) {
                result = .success(try authority.verify(token))
            } catch {
                result = .failure(error)
            }
            me.loop.execute { me.value.checker?.checked(token, result, number) }
        }
    }

    private func checked(_ token: String, _ result: Result, _ number: UInt64) {
        if case .success(let verified) = result { recent.insert(token, verified) }
        waiting.removeValue(forKey: number)?(result)
    }
}

@available(*, unavailable)
extension TokenChecker: Sendable {}
