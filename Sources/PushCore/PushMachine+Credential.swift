import CallVocabulary
import Determinism

/// The credential: signing and fetching its token, and pushes while it is refused.
extension PushMachine {
    mutating func signed(_ generation: Int, expiresAt: Instant?) {
        guard providerToken.isOfCredential(generation) else { return }
        guard providerToken.signed(generation, expiresAt: expiresAt, now: now) else {
            let reason = "the access token had expired when it came: check this machine's clock"
            return signingFailed(generation, reason: reason)
        }
        counters.tokensSigned += 1
        credential.tokenWasHad()
    }

    /// Handles a failed signature or fetch. A signature that fails once always fails, so no push waits for another. A
    /// fetch is retried with backoff, and pushes wait for it within their limits.
    mutating func signingFailed(_ generation: Int, reason: String) {
        guard providerToken.isOfCredential(generation) else { return }
        providerToken.signingFailed(generation, now: now, random: &random)
        counters.tokensFailed += 1
        raise(.signingFailed(reason: reason))
        guard policy.credential == .signedToken, providerToken.usable(now: now) == nil else { return }
        finishWaiting(.noProviderToken, reason: "no provider token: \(reason)")
    }

    private mutating func raise(_ alarm: PushAlarm) {
        credential.note(alarm)
        effects.append(.alarm(alarm))
    }

    /// Updates the credential's health by the verdict on a push.
    mutating func noteCredential(_ verdict: PushVerdict) {
        guard credential.failures > 0 else { return }
        credential.note(verdict)
        if credential.failures == 0, !breaker.isClosed { breaker.close() }
    }

    /// Handles a refused credential. The first refusal may be a fault of one of the provider's machines, or of one
    /// signature: the push is retried on a new connection, with a new token if one may be signed. The second one counts
    /// against the credential. It opens the circuit, except where devices choose the service: whoever registers devices
    /// with another server's key there is refused, as often as he wants.
    mutating func credentialRefused(
        _ push: PushIndex, _ answer: PushAnswer, _ alarm: PushAlarm, on connection: PushConnectionID
    ) {
        let isRepeated = pushes[push].hasRetriedProviderToken
        let isProbe = breaker.state.probe == pushes.id(at: push)
        if isRepeated, isCounted(pushes[push].terms) { raise(alarm) }
        if isRepeated || isProbe, !policy.isChosenByDevices {
            let hasOpened = breaker.refused(
                pushes.id(at: push), isBad: credential.isBad, reason: answer.reason, now: now, random: &random)
            if hasOpened { counters.circuitsOpened += 1 }
        }
        renewCredential(of: push, on: connection)
        if isRepeated { return reject(push, answer) }
        pushes[push].hasRetriedProviderToken = true
        giveBack(push, setback: answer.reason)
    }

    /// The most users kept in ``refusedInARow``.
    private static let mostRefused = 100

    /// Whether a refusal counts against the credential: where devices choose the service, those of one user say nothing
    /// about the pushes of others.
    private mutating func isCounted(_ terms: PushTerms) -> Bool {
        guard policy.isChosenByDevices else { return true }
        if credential.failures == 0 { refusedInARow = [] }
        guard !refusedInARow.hasUser(of: terms) else { return credential.isBad }
        if refusedInARow.count < Self.mostRefused { refusedInARow.append(terms) }
        return true
    }

    /// Prepares the retry. With signed tokens and certificates the provider judges a connection by its first
    /// credential, so the connection is replaced. With fetched tokens it judges each request alone.
    private mutating func renewCredential(of push: PushIndex, on connection: PushConnectionID) {
        let replacement = providerToken.replace(pushes[push].tokenGeneration, mayBeEarly: true, now: now)
        switch policy.credential {
        case .fetchedToken: break
        case .signedToken where policy.isChosenByDevices: break
        case .certificate: retireBlameless(connection)
        case .signedToken where replacement == .early:
            for id in connections.filter(\.isOpen).map(\.id) { retireBlameless(id) }
            opensFrom = now
        case .signedToken: retireBlameless(connection)
        }
    }

    /// Retires a connection without counting a failure against it.
    private mutating func retireBlameless(_ id: PushConnectionID) {
        update(id) { $0.isBlamed = true }
        retire(id)
    }

    /// Retries the push on another connection: this one has recently carried another token. A token that was just
    /// signed is kept.
    mutating func providerTokenTooNew(_ push: PushIndex, _ answer: PushAnswer, on connection: PushConnectionID) {
        _ = providerToken.replace(pushes[push].tokenGeneration, mayBeEarly: false, now: now)
        guard !pushes[push].hasRetriedProviderToken else { return reject(push, answer) }
        pushes[push].hasRetriedProviderToken = true
        giveBack(push, setback: answer.reason)
        if policy.credential == .signedToken { retire(connection) }
    }

    // MARK: Too many pushes

    /// Handles a throttled push whose answer does not tell whose quota it was. The device backs off, and the push waits
    /// if it can. Other pushes continue, until devices of so many users were refused in a row that it may be the
    /// account's quota. A user one of whose devices was throttled before says nothing new.
    mutating func throttled(_ push: PushIndex, _ answer: PushAnswer) {
        let (terms, token) = (pushes[push].terms, pushes[push].terms.token)
        let isFirst = !throttle.knows(terms) && !throttledInARow.hasUser(of: terms)
        if isFirst { throttledInARow.append(terms) }
        quotaProbes.throttled(terms, isFirst: isFirst)
        if let token {
            throttle.refused(token, of: terms.user, retryAfter: retryAfter(of: answer), now: now, random: &random)
        }
        if throttledInARow.count >= policy.refusalsUntilThrottled {
            throttledInARow = []
            let wait = quotaRefusals.failed(random: &random)
            keepQuiet(for: wait, isCertain: false, answer)
        }
        let until = token.flatMap { throttle.heldUntil($0, now: now) }
        let due = until ?? now + (retryAfter(of: answer) ?? policy.quotaBackoff.base)
        waitForQuota(push, answer, until: due)
    }

    /// Handles an account that is throttled: all pushes of the pool wait, this one too if it can.
    mutating func providerThrottled(_ push: PushIndex, _ answer: PushAnswer) {
        // Pushes sent together are refused together: that is one failure, not many.
        if quietUntil.map({ $0 <= now }) ?? true {
            let wait = quotaRefusals.failed(random: &random)
            keepQuiet(for: retryAfter(of: answer) ?? wait, isCertain: true, answer)
        }
        waitForQuota(push, answer, until: nil)
    }

    /// - Parameter until: how long this push waits; nil for the account's backoff.
    private mutating func waitForQuota(_ push: PushIndex, _ answer: PushAnswer, until: Instant?) {
        let due = max(until ?? now, quietUntil ?? now)
        guard !pushes[push].hasRetriedQuota, isWorthWaiting(pushes[push].terms, until: due) else {
            // Where devices of several users are throttled, it is the provider.
            if answer.verdict == .throttled, quietUntil.map({ $0 > now }) ?? false { counters.failed += 1 }
            return reject(push, answer)
        }
        pushes[push].hasRetriedQuota = true
        giveBack(push, setback: answer.reason, heldUntil: until)
    }

    private mutating func keepQuiet(for wait: Duration, isCertain: Bool, _ answer: PushAnswer) {
        effects.append(.alarm(.providerThrottled(reason: answer.reason)))
        let isQuiet = quietUntil.map { $0 > now } ?? false
        let until = max(quietUntil ?? now, now + wait)
        quietUntil = until
        isQuietForCertain = isCertain || (isQuiet && isQuietForCertain)
        // Not again for each three of them: they would put off the probes without an end.
        if !isQuiet { quotaProbes.begin(now: now) }
        let (policy, throttle, holdsAll) = (policy, throttle, isQuietForCertain)
        finishWaiting(.quotaExceeded, reason: Self.quotaReason) { _, _, terms in
            !policy.isWorthWaiting(terms, until: until) && (holdsAll || throttle.knows(terms))
        }
    }

    /// Whether the account's backoff is only inferred: pushes to users without a throttled device probe it, and the
    /// first that is accepted ends it.
    var isQuotaProbed: Bool { quietUntil != nil && !isQuietForCertain && breaker.isClosed }

    /// Whether the account's backoff holds the push back.
    func isHeldBack(_ terms: PushTerms) -> Bool {
        guard let quietUntil, quietUntil > now else { return false }
        return isQuietForCertain || throttle.knows(terms)
    }

    static let quotaReason = "the provider takes nothing of this account until after the push's time"

    /// Whether the account's backoff outlasts the time this push can wait.
    func isQuiet(past terms: PushTerms) -> Bool {
        guard let quietUntil, isHeldBack(terms) else { return false }
        return !policy.isWorthWaiting(terms, until: quietUntil)
    }

    func isWorthWaiting(_ terms: PushTerms, until: Instant) -> Bool {
        policy.isWorthWaiting(terms, until: until)
    }

    /// The provider's `Retry-After`, at most ``PushPolicy/longestRetryAfter``.
    func retryAfter(of answer: PushAnswer) -> Duration? {
        answer.retryAfter.map { max(.zero, min($0, policy.longestRetryAfter)) }
    }
}

extension [PushTerms] {
    /// Whether one of them is to a device of the same user; to the same token, where no user is known.
    func hasUser(of terms: PushTerms) -> Bool {
        contains { other in
            terms.user == nil ? terms.token != nil && other.token == terms.token : other.user == terms.user
        }
    }
}

extension PushPolicy {
    /// Whether a push that waits until then still has enough time left.
    fileprivate func isWorthWaiting(_ terms: PushTerms, until: Instant) -> Bool {
        until + (terms.isUrgent ? shortestRing : .zero) < terms.expiresAt
    }
}
