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

    private var earliestSigning: Instant {
        guard let latest else { return retryFrom }
        return max(retryFrom, latest.issuedAt + shortestInterval)
    }

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
        failures.succeeded()
    }

    /// The provider calls the token of `generation` stale.
    /// - Returns: whether a newer one is there, on its way, or may be had; else the old one stays.
    mutating func giveUp(_ generation: Generation, now: Instant) -> Bool {
        if kind == .certificate { return false }
        if signing != nil { return true }
        guard let current else { return true }
        if current.generation != generation { return true }
        guard now - current.issuedAt >= shortestInterval else { return false }
        self.current = nil
        return true
    }
}
