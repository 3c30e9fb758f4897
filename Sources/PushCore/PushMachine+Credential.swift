import CallVocabulary
import Determinism

/// The credential: its token's life, and what becomes of pushes while it is not taken.
extension PushMachine {
    mutating func signed(_ generation: Int, expiresAt: Instant?, now: Instant, effects: inout [PushEffect]) {
        guard providerToken.isOfCredential(generation) else { return }
        guard providerToken.signed(generation, expiresAt: expiresAt, now: now) else {
            let reason = "the access token had expired when it came: check this machine's clock"
            return signingFailed(generation, reason: reason, now: now, effects: &effects)
        }
        counters.tokensSigned += 1
        credential.tokenWasHad()
    }

    /// A signature that fails once fails always: nobody waits for another. A fetch is tried again after a while, and
    /// pushes wait for that as long as they may.
    mutating func signingFailed(_ generation: Int, reason: String, now: Instant, effects: inout [PushEffect]) {
        guard providerToken.isOfCredential(generation) else { return }
        providerToken.signingFailed(generation, now: now, random: &random)
        counters.tokensFailed += 1
        raise(.signingFailed(reason: reason), effects: &effects)
        guard policy.credential == .signedToken, providerToken.usable(now: now) == nil else { return }
        finishWaiting(.noProviderToken, reason: "no provider token: \(reason)", sparing: nil, effects: &effects)
    }

    private mutating func raise(_ alarm: PushAlarm, effects: inout [PushEffect]) {
        credential.note(alarm)
        effects.append(.alarm(alarm))
    }

    /// What an answer proves of the credential.
    mutating func noteCredential(_ verdict: PushVerdict) {
        guard credential.failures > 0 else { return }
        credential.note(verdict)
        if credential.failures == 0, !breaker.isClosed { breaker.close() }
    }

    /// The credential was refused to a push.
    mutating func credentialFailed(
        _ push: PushIndex, _ answer: PushAnswer, _ alarm: PushAlarm, now: Instant, effects: inout [PushEffect]
    ) {
        raise(alarm, effects: &effects)
        let hasOpened = breaker.refused(
            pushes.id(at: push), isBad: credential.isBad, reason: answer.reason, now: now, random: &random)
        if hasOpened {
            counters.circuitsOpened += 1
            // Those that are held are answered with the others.
            releaseHeld(now: Instant(milliseconds: .max))
        }
        reject(push, answer, effects: &effects)
    }

    /// The token, and with a signed one the connection that carried it, is replaced; what failed with them is sent once
    /// more.
    mutating func providerTokenStale(
        _ push: PushIndex, _ answer: PushAnswer, on connection: PushConnectionID, now: Instant,
        effects: inout [PushEffect]
    ) {
        if !providerToken.giveUp(pushes[push].tokenGeneration, now: now) {
            switch policy.credential {
            case .signedToken where answer.reason == APNSReason.expiredProviderToken.rawValue:
                // Signed less than 20 minutes ago, and good for an hour: repeating it would only repeat the answer.
                return credentialFailed(push, answer, .clockSkew, now: now, effects: &effects)
            case .signedToken: break
            case .fetchedToken, .certificate:
                let alarm = PushAlarm.credentialRefused(reason: answer.reason)
                return credentialFailed(push, answer, alarm, now: now, effects: &effects)
            }
        }
        guard !pushes[push].hasRetriedProviderToken else { return reject(push, answer, effects: &effects) }
        pushes[push].hasRetriedProviderToken = true
        giveBack(push, setback: answer.reason, now: now, effects: &effects)
        if policy.credential == .signedToken { retire(connection, now: now, effects: &effects) }
    }

    /// Everything in the pool waits, this push too if its time allows it.
    mutating func providerThrottled(
        _ push: PushIndex, _ answer: PushAnswer, now: Instant, effects: inout [PushEffect]
    ) {
        // What was on the wire together is refused together: that is one setback, not many.
        if quietUntil.map({ $0 <= now }) ?? true {
            effects.append(.alarm(.providerThrottled(reason: answer.reason)))
            let wait = quotaRefusals.failed(random: &random)
            quietUntil = now + (retryAfter(of: answer) ?? wait)
        }
        guard !pushes[push].hasRetriedQuota, let until = quietUntil, until < pushes[push].terms.expiresAt else {
            return reject(push, answer, effects: &effects)
        }
        pushes[push].hasRetriedQuota = true
        giveBack(push, setback: answer.reason, now: now, effects: &effects)
    }

    /// How long the provider wants to be left alone, within bounds.
    func retryAfter(of answer: PushAnswer) -> Duration? {
        answer.retryAfter.map { max(.zero, min($0, policy.longestRetryAfter)) }
    }
}
