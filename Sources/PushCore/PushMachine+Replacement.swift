import CallVocabulary

/// What becomes of pushes when the pool's credential changes.
extension PushMachine {
    /// A provider judges a connection by what was first sent on it, so none is used on. Nothing that was found wrong with
    /// the old credential is held against the new one.
    mutating func replaceCredential(_ kind: PushPolicy.Credential, now: Instant, effects: inout [PushEffect]) {
        policy.credential = kind
        providerToken.replaceCredential(kind)
        credential = CredentialHealth()
        evidence = TopicEvidence()
        breaker.close()
        firstOfCredential = nextConnection
        reconnects.succeeded()
        opensFrom = now
        for id in connections.map(\.id) {
            guard let index = index(of: id) else { continue }
            connections[index].drain()
            // Whatever becomes of it says nothing of the next one.
            connections[index].isBlamed = true
            closeIfDrained(id, effects: &effects)
        }
    }

    /// A push that was on the wire has the old credential's answer: it is sent once more with the new one.
    mutating func oldCredentialRefused(
        _ push: PushIndex, _ answer: PushAnswer, now: Instant, effects: inout [PushEffect]
    ) {
        guard !pushes[push].hasRetriedProviderToken else { return reject(push, answer, effects: &effects) }
        pushes[push].hasRetriedProviderToken = true
        giveBack(push, setback: answer.reason, now: now, effects: &effects)
    }

    mutating func withdraw(_ id: PushID, reason: String, effects: inout [PushEffect]) {
        guard let index = pushes.slot(of: id) else { return }
        switch pushes[index].phase {
        case .waiting, .held: break
        case .announced(let connection): release(connection)
        // It may have arrived: its answer counts.
        case .submitting, .open: return
        }
        finish(index, .credentialGone, reason: reason, effects: &effects)
    }
}
