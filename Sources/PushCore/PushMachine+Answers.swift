import CallVocabulary

/// What becomes of a push on the wire.
extension PushMachine {
    mutating func answered(
        _ answer: PushAnswer, on id: PushConnectionID, stream: Int32, now: Instant, effects: inout [PushEffect]
    ) {
        guard let push = endStream(stream, on: id, now: now) else { return }
        if answer.verdict != .accepted { counters.countRefusal(answer.reason) }
        switch answer.verdict {
        case .accepted:
            proven(id)
            finish(push, .accepted, effects: &effects)
        case .tokenGone, .deviceThrottled, .requestFaulty:
            proven(id)
            reject(push, answer, effects: &effects)
        case .tokenMismatched, .topicRefused:
            proven(id)
            effects.append(.alarm(.addressRefused(push, reason: answer.reason)))
            reject(push, answer, effects: &effects)
        case .credentialRefused:
            effects.append(.alarm(.credentialRefused(reason: answer.reason)))
            reject(push, answer, effects: &effects)
        case .providerTokenStale:
            providerTokenStale(push, answer, on: id, now: now, effects: &effects)
        case .retryable:
            retryOnce(push, answer, on: id, effects: &effects)
        case .serverLeaving:
            retryOnce(push, answer, on: id, effects: &effects)
            retire(id, now: now, effects: &effects)
        }
        closeIfDrained(id, effects: &effects)
    }

    /// The stream is over; nil when it was given up before, or its connection was.
    @discardableResult
    mutating func endStream(_ stream: Int32, on id: PushConnectionID, now: Instant) -> PushID? {
        guard let index = index(of: id) else { return nil }
        connections[index].heard(now: now)
        guard let push = connections[index].push(on: stream) else { return nil }
        connections[index].remove(stream: stream)
        return push
    }

    /// The connection is worth having: the next one may be opened without waiting.
    private mutating func proven(_ id: PushConnectionID) {
        guard let index = index(of: id) else { return }
        connections[index].isProven = true
        connections[index].refusals.succeeded()
        reconnects.succeeded()
    }

    private mutating func reject(_ id: PushID, _ answer: PushAnswer, effects: inout [PushEffect]) {
        let isTokenDead = answer.isTokenDead(registeredAt: pushes[id]?.terms.tokenRegisteredAt)
        finish(id, .rejected(reason: answer.reason, isTokenDead: isTokenDead), effects: &effects)
    }

    /// Apple advises 15 minutes, which outlives any ring: so once, fast, elsewhere, while the phone may still ring.
    private mutating func retryOnce(
        _ id: PushID, _ answer: PushAnswer, on connection: PushConnectionID, effects: inout [PushEffect]
    ) {
        guard pushes[id]?.hasRetriedServerError == false else { return reject(id, answer, effects: &effects) }
        pushes[id]?.hasRetriedServerError = true
        pushes[id]?.avoided = connection
        giveBack(id, setback: answer.reason, effects: &effects)
    }

    /// The token and the connection that carried it are replaced; what failed with them is sent once more.
    private mutating func providerTokenStale(
        _ id: PushID, _ answer: PushAnswer, on connection: PushConnectionID, now: Instant,
        effects: inout [PushEffect]
    ) {
        let generation = pushes[id]?.tokenGeneration ?? 0
        let isReplaced = providerToken.giveUp(generation, now: now)
        if !isReplaced, answer.reason == APNSReason.expiredProviderToken.rawValue {
            // Signed less than 20 minutes ago, and good for an hour: repeating it would only repeat the answer.
            effects.append(.alarm(.clockSkew))
            return reject(id, answer, effects: &effects)
        }
        guard pushes[id]?.hasRetriedProviderToken == false else { return reject(id, answer, effects: &effects) }
        pushes[id]?.hasRetriedProviderToken = true
        giveBack(id, setback: answer.reason, effects: &effects)
        retire(connection, now: now, effects: &effects)
    }

    mutating func refused(
        on id: PushConnectionID, stream: Int32, now: Instant, effects: inout [PushEffect]
    ) {
        guard let push = endStream(stream, on: id, now: now) else { return }
        giveBack(push, effects: &effects)
        pause(id, now: now, effects: &effects)
        closeIfDrained(id, effects: &effects)
    }

    mutating func lost(
        on id: PushConnectionID, stream: Int32, reason: String, now: Instant, effects: inout [PushEffect]
    ) {
        guard let push = endStream(stream, on: id, now: now) else { return }
        finish(push, .unknown(reason: reason), effects: &effects)
        closeIfDrained(id, effects: &effects)
    }
}
