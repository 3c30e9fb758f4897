import CallVocabulary

/// The life cycle of a pool's provider token: when it is signed or fetched, used and dropped. The shell holds the token
/// itself.
struct ProviderToken: Sendable {
    /// Distinguishes successive tokens; 0 for a pool whose connections carry the credential.
    typealias Generation = Int

    private struct Token: Sendable {
        let generation: Generation
        let issuedAt: Instant
        /// A new token is wanted from then on; not after `usableUntil`.
        let refreshFrom: Instant
        /// The token is not used from then on.
        let usableUntil: Instant
    }

    private var kind: PushPolicy.Credential
    private let signedPolicy: ProviderTokenPolicy
    private let fetchedPolicy: AccessTokenPolicy
    private var current: Token?
    private var signing: (generation: Generation, issuedAt: Instant)?
    private var latest: (generation: Generation, issuedAt: Instant)?
    /// The last generation of the previous credential; tokens up to it are ignored.
    private var lastOfOld: Generation = 0
    private var retryFrom = Instant(milliseconds: 0)
    /// When the next token may be signed or fetched.
    private var renewableFrom = Instant(milliseconds: 0)
    /// When a refused token was last replaced before `renewableFrom`.
    private var lastEarly: Instant?
    private var failures: Backoff

    init(policy: PushPolicy) {
        kind = policy.credential
        signedPolicy = policy.providerToken
        fetchedPolicy = policy.accessToken
        failures = Backoff(policy.accessToken.fetchBackoff)
    }

    /// The token to send with; nil when there is none that is young enough.
    func usable(now: Instant) -> Generation? {
        if kind == .certificate { return 0 }
        guard let current, now < current.usableUntil else { return nil }
        return current.generation
    }

    /// Starts a signing or fetch if one is due. Call it when a token is needed. Returns the new generation and its time
    /// of issue.
    mutating func startSigningIfDue(now: Instant) -> (generation: Generation, issuedAt: Instant)? {
        guard kind != .certificate, signing == nil else { return nil }
        if let current, now < current.refreshFrom { return nil }
        guard now >= earliestSigning else { return nil }
        let next = (generation: (latest?.generation ?? lastOfOld) + 1, issuedAt: now)
        signing = next
        return next
    }

    /// When to call ``startSigningIfDue(now:)`` again while pushes wait; nil while that would have no effect.
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

    /// - Parameter expiresAt: when the provider says the token expires; used for fetched tokens only.
    /// - Returns: false when the token is expired already, which counts as a failure.
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

    /// Schedules the next try. A fetch backs off, to spare the provider; so does a signature while an older token is
    /// usable. A signature that the next push needs is tried again at once, because it is local.
    mutating func signingFailed(_ generation: Generation, now: Instant, random: inout some RandomNumberGenerator) {
        guard signing?.generation == generation else { return }
        signing = nil
        if kind == .fetchedToken || usable(now: now) != nil {
            retryFrom = now + failures.failed(random: &random)
        }
    }

    /// Whether the token was requested with the present credential.
    func isOfCredential(_ generation: Generation) -> Bool { generation > lastOfOld }

    /// Drops all tokens of the old credential, used or pending; a new one may be requested at once.
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

    /// Drops a signed token, whose time of issue may be wrong now. A fetched token is kept, as the provider issued it,
    /// but a failed fetch may be repeated at once: a wrong clock may have been its cause.
    mutating func clockSet() {
        retryFrom = Instant(milliseconds: 0)
        failures.succeeded()
        guard kind == .signedToken else { return }
        replaceCredential(kind)
    }

    /// The token for a second try of a push whose token was refused.
    enum Replacement {
        /// The same token: there is no newer one, and none may be requested yet.
        case same
        /// A newer token: present, pending or due.
        case newer
        /// A token signed so soon after the last one that connections which carried the last one would refuse it.
        case early
    }

    /// The provider refused the token of `generation`.
    ///
    /// Apple accepts one new token in 20 minutes. One more is signed within that time, because a clock error or a bad
    /// signature must not cost all calls of 20 minutes. It is only one, as a wrong key would otherwise have tokens
    /// signed without end.
    /// - Parameter mayBeEarly: whether a new token may help at all.
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
