import CallVocabulary
import PushVocabulary

/// Handles the answers to pushes on the wire.
extension PushMachine {
    mutating func answered(_ answer: PushAnswer, on id: PushConnectionID, stream: Int32) {
        guard let place = index(of: id), let request = endStream(stream, at: place) else { return }
        let push = request.push
        counters.latency.observe(milliseconds: now.milliseconds - request.openedAt.milliseconds)
        if answer.verdict != .accepted { counters.refusals.count(answer.reason) }
        let isOld = id.serial < firstOfCredential
        if !isOld { noteCredential(answer.verdict) }
        switch answer.verdict {
        case .accepted:
            proven(place)
            accept(push, isOld: isOld)
        case .requestFaulty:
            proven(place)
            // A fault common to all pushes is one of the configuration or of this program.
            if !isOld { _ = noteRefusal(of: push, answer) }
            reject(push, answer)
        case .tokenGone:
            proven(place)
            let isTokenDead = answer.isAfter(registeredAt: pushes[push].terms.tokenRegisteredAt)
            reject(push, answer, isTokenDead: isTokenDead)
        case .tokenUnknown, .tokenMismatched, .topicRefused:
            proven(place)
            addressRefused(push, answer, isOld: isOld)
        case .relayRefused:
            proven(place)
            if pushes[push].hasRetriedServerError {
                addressRefused(push, answer, isOld: isOld)
            } else {
                retryOnce(push, answer, on: id)
            }
        case .deviceThrottled:
            proven(place)
            if let token = pushes[push].terms.token {
                let user = pushes[push].terms.user
                throttle.refused(token, of: user, retryAfter: retryAfter(of: answer), now: now, random: &random)
            }
            reject(push, answer)
        case .providerThrottled:
            proven(place)
            providerThrottled(push, answer)
        case .throttled:
            proven(place)
            throttled(push, answer)
        case .credentialRefused where isOld, .providerTokenStale where isOld, .providerTokenTooNew where isOld:
            oldCredentialRefused(push, answer)
        case .credentialRefused:
            let alarm = PushAlarm.credentialRefused(reason: answer.reason)
            credentialRefused(push, answer, alarm, on: id)
        case .providerTokenStale:
            // A newly signed token is called too old.
            let isClock = policy.credential == .signedToken
            let alarm = isClock ? PushAlarm.clockSkew : .credentialRefused(reason: answer.reason)
            credentialRefused(push, answer, alarm, on: id)
        case .providerTokenTooNew: providerTokenTooNew(push, answer, on: id)
        case .retryable: retryOnce(push, answer, on: id)
        case .serverLeaving:
            retryOnce(push, answer, on: id)
            retire(id)
        }
        closeIfDrained(id)
    }

    /// Removes a stream that has ended; nil when the stream or its connection was given up before.
    private mutating func endStream(_ stream: Int32, on id: PushConnectionID) -> PushConnection.Stream? {
        index(of: id).flatMap { endStream(stream, at: $0) }
    }

    private mutating func endStream(_ stream: Int32, at place: Int) -> PushConnection.Stream? {
        // A stream that was given up ends by our own reset, which is no sign of life.
        guard let ended = connections[place].remove(stream: stream) else { return nil }
        connections[place].heard(now: now)
        return ended
    }

    private mutating func accept(_ push: PushIndex, isOld: Bool) {
        quotaRefusals.succeeded()
        if policy.mayInferQuota, let user = pushes[push].terms.user { quotaProbes.remember(user) }
        if quotaProbes.hasThrottled {
            throttledInARow = []
            quotaProbes.succeeded()
        }
        if !isQuietForCertain { quietUntil = nil }
        if !throttle.isEmpty, let token = pushes[push].terms.token { throttle.accepted(token) }
        if !isOld, !isMapped(push) { evidence.accepted(pushes[push].terms.token) }
        finish(push, .accepted)
    }

    /// Handles a refused token, topic or relay. The answers to other pushes of the topic decide whether the token is at
    /// fault.
    private mutating func addressRefused(_ push: PushIndex, _ answer: PushAnswer, isOld: Bool) {
        let id = pushes.id(at: push)
        if isMapped(push) {
            // The mapped FCM token is refused, and is fetched again; the APNs token of the device is not judged.
            let isTokenDead = answer.verdict == .tokenUnknown || answer.verdict == .tokenMismatched
            return reject(push, answer, isTokenDead: isTokenDead)
        }
        // An answer over a connection of the previous configuration is no evidence.
        let isTokenDead = !isOld && noteRefusal(of: push, answer)
        if answer.verdict != .tokenUnknown {
            effects.append(.alarm(.addressRefused(id, reason: answer.reason)))
        }
        reject(push, answer, isTokenDead: isTokenDead)
    }

    /// - Returns: whether the token is at fault.
    private mutating func noteRefusal(of push: PushIndex, _ answer: PushAnswer) -> Bool {
        let terms = pushes[push].terms
        let isTokenDead = evidence.refused(terms.token, of: terms.user, answer, now: now)
        if let suspect = evidence.suspect(terms.token) { effects.append(.alarm(.configurationSuspected(suspect))) }
        return isTokenDead
    }

    /// Whether the push goes to an FCM token mapped to an APNs token.
    private func isMapped(_ push: PushIndex) -> Bool {
        policy.credential == .fetchedToken && pushes[push].terms.token?.provider == .apns
    }

    /// Marks a connection as useful: the next one may be opened without delay.
    private mutating func proven(_ index: Int) {
        connections[index].isProven = true
        connections[index].refusals.succeeded()
        reconnects.succeeded()
    }

    mutating func reject(_ push: PushIndex, _ answer: PushAnswer, isTokenDead: Bool = false) {
        if answer.verdict.isOfProvider { counters.failed += 1 }
        finish(push, .rejected(reason: answer.reason, isTokenDead: isTokenDead))
    }

    /// Retries a push once after a server error. Apple advises 15 minutes, which is longer than a call rings: a call is
    /// retried at once on another connection, a notice after that delay. Neither is retried before the provider's
    /// `Retry-After`.
    private mutating func retryOnce(_ push: PushIndex, _ answer: PushAnswer, on connection: PushConnectionID) {
        let terms = pushes[push].terms
        guard !pushes[push].hasRetriedServerError else { return reject(push, answer) }
        var wait = retryAfter(of: answer)
        if !terms.isUrgent { wait = max(policy.noticeRetryDelay, wait ?? .zero) }
        if let wait, !isWorthWaiting(terms, until: now + wait) { return reject(push, answer) }
        pushes[push].hasRetriedServerError = true
        pushes[push].avoided = connection
        giveBack(push, setback: answer.reason, heldUntil: wait.map { now + $0 })
    }

    mutating func refused(on id: PushConnectionID, stream: Int32) {
        guard let push = endStream(stream, on: id)?.push else { return }
        giveBack(push)
        pause(id)
        closeIfDrained(id)
    }

    mutating func lost(on id: PushConnectionID, stream: Int32, reason: String) {
        guard let push = endStream(stream, on: id)?.push else { return }
        finish(push, .unknown(reason: reason))
        closeIfDrained(id)
    }
}
