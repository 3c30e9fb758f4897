import EventLoop

/// Checks the tokens that come to one shard: a wake token at once, a JWT off the loop, or at once where it was good a while
/// ago, for a phone opens one session after the other with the same. Confined to the shard's loop.
final class TokenChecker {
    typealias Result = Swift.Result<TokenAuthority.Verified, TokenAuthority.Refusal>

    /// What goes to the check and back, without keeping this.
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

    /// - Parameter completion: called on the loop, now or soon, unless this is released before.
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
