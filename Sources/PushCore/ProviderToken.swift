import CallVocabulary

/// When the pool's one token is signed or fetched, used and given up. The token itself is the shell's.
struct ProviderToken: Sendable {
    /// Tells one token from the next; 0 is that of a pool whose connections carry the credential.
    typealias Generation = Int

    private struct Token: Sendable {
        let generation: Generation
        let issuedAt: Instant
        /// From then on a new one is wanted; not after `usableUntil`.
        let refreshFrom: Instant
        /// From then on it is not used.
        let usableUntil: Instant
    }

    private var kind: PushPolicy.Credential
    private let signedPolicy: ProviderTokenPolicy
    private let fetchedPolicy: AccessTokenPolicy
    private var current: Token?
    private var signing: (generation: Generation, issuedAt: Instant)?
    private var latest: (generation: Generation, issuedAt: Instant)?
    /// The last one of the credential before; none of its tokens counts any more.
    private var lastOfOld: Generation = 0
    private var retryFrom = Instant(milliseconds: 0)
    /// When a token may be signed or fetched after the last one.
    private var renewableFrom = Instant(milliseconds: 0)
    /// When a token was last replaced before that, because the provider refused it.
    private var lastEarly: Instant?
    private var failures: Backoff

    init(policy: PushPolicy) {
        kind = policy.credential
        signedPolicy = policy.providerToken
        fetchedPolicy = policy.accessToken
        failures = Backoff(policy.accessToken.fetchBackoff)
    }

    /// The token to send with now, if there is one young enough.
    func usable(now: Instant) -> Generation? {
        if kind == .certificate { return 0 }
        guard let current, now < current.usableUntil else { return nil }
        return current.generation
    }

    /// Called when a token is needed. Non-nil when one is to be signed or fetched now, as issued at the time given.
    mutating func startSigningIfDue(now: Instant) -> (generation: Generation, issuedAt: Instant)? {
        guard kind != .certificate, signing == nil else { return nil }
        if let current, now < current.refreshFrom { return nil }
        guard now >= earliestSigning else { return nil }
        let next = (generation: (latest?.generation ?? lastOfOld) + 1, issuedAt: now)
        signing = next
        return next
    }

    /// When ``startSigningIfDue(now:)`` is to be asked again if pushes wait; nil while that would be of no use.
    var nextSigning: Instant? {
        guard kind != .certificate, signing == nil else { return nil }
        return current.map { max(earliestSigning, $0.usableUntil) } ?? earliestSigning
    }

    private var earliestSigning: Instant { max(retryFrom, renewableFrom) }

    private var shortestInterval: Duration {
        switch kind {
        case .signedToken: signedPolicy.shortestInterval
        case .fetchedToken: fetchedPolicy.shortestInterval
        case .certificate: .zero
        }
    }

    /// - Parameter expiresAt: the provider's word; counts for fetched tokens only.
    /// - Returns: false when the token is of no use any more already, which is as good as a failure.
    mutating func signed(_ generation: Generation, expiresAt: Instant?, now: Instant) -> Bool {
        guard let done = signing, done.generation == generation else { return true }
        let token = token(generation, issuedAt: done.issuedAt, expiresAt: expiresAt)
        guard now < token.usableUntil else { return false }
        current = token
        latest = done
        renewableFrom = done.issuedAt + shortestInterval
        signing = nil
        failures.succeeded()
        return true
    }

    private func token(_ generation: Generation, issuedAt: Instant, expiresAt: Instant?) -> Token {
        guard kind == .fetchedToken else {
            let refreshAge = min(signedPolicy.refreshAge, signedPolicy.longestAge)
            return Token(
                generation: generation, issuedAt: issuedAt, refreshFrom: issuedAt + refreshAge,
                usableUntil: issuedAt + signedPolicy.longestAge)
        }
        let end = expiresAt ?? issuedAt + fetchedPolicy.assumedLife
        let usableUntil = end + (.zero - fetchedPolicy.margin)
        let before = min(fetchedPolicy.refreshBefore, (end - issuedAt) / 10)
        return Token(
            generation: generation, issuedAt: issuedAt, refreshFrom: min(end + (.zero - before), usableUntil),
            usableUntil: usableUntil)
    }

    /// Not tried again at once: a fetch would be a burden, and while an older token serves nobody waits for a new one.
    /// A signature that the next push needs is tried at once, because it asks nobody.
    mutating func signingFailed(_ generation: Generation, now: Instant, random: inout some RandomNumberGenerator) {
        guard signing?.generation == generation else { return }
        signing = nil
        if kind == .fetchedToken || usable(now: now) != nil {
            retryFrom = now + failures.failed(random: &random)
        }
    }

    /// Whether a token was asked for with the credential that is there now.
    func isOfCredential(_ generation: Generation) -> Bool { generation > lastOfOld }

    /// No token of the old credential is used or waited for any more, and one of the new may be had at once.
    mutating func replaceCredential(_ kind: PushPolicy.Credential) {
        self.kind = kind
        lastOfOld = signing?.generation ?? latest?.generation ?? lastOfOld
        current = nil
        signing = nil
        latest = nil
        retryFrom = Instant(milliseconds: 0)
        renewableFrom = Instant(milliseconds: 0)
        lastEarly = nil
        failures.succeeded()
    }

    /// A signature says when it was made, and the clock that said so was set since. What was fetched is the provider's, and
    /// a fetch that failed may have failed for the wrong time.
    mutating func clockSet() {
        retryFrom = Instant(milliseconds: 0)
        failures.succeeded()
        guard kind == .signedToken else { return }
        replaceCredential(kind)
    }

    /// What a push is sent with that goes out again because its token was refused.
    enum Replacement {
        /// The same: there is no newer one, and none may be had yet.
        case same
        /// One that is there, on its way, or due.
        case newer
        /// One that is signed so soon after the last that connections which have carried that one would refuse it.
        case early
    }

    /// The provider refused the token of `generation`.
    ///
    /// Apple takes one new token in 20 minutes. Within them one more is signed, as a slip of the clock or of one signature
    /// must not cost the calls of 20 minutes; it is the only one, or a wrong key would have tokens signed without end.
    /// - Parameter mayBeEarly: whether a new one may help at all.
    mutating func replace(_ generation: Generation, mayBeEarly: Bool, now: Instant) -> Replacement {
        guard kind != .certificate else { return .same }
        guard let current, current.generation == generation else { return .newer }
        if signing != nil || now - current.issuedAt >= shortestInterval {
            self.current = nil
            return .newer
        }
        guard mayBeEarly, lastEarly.map({ now - $0 >= shortestInterval }) ?? true else { return .same }
        lastEarly = now
        renewableFrom = now
        self.current = nil
        return .early
    }
}
