import CallVocabulary

/// Handles a change of the pool's credential.
extension PushMachine {
    /// Replaces the credential. A provider judges a connection by the first credential on it, so all connections are
    /// retired. Failures of the old credential do not count against the new one.
    mutating func replaceCredential(_ kind: PushPolicy.Credential) {
        policy.credential = kind
        providerToken.replaceCredential(kind)
        credential = CredentialHealth()
        evidence = TopicEvidence()
        (cutOffAt, overdueAt, connectionFailure) = (nil, nil, nil)
        breaker.close()
        firstOfCredential = nextConnection
        reconnects.succeeded()
        opensFrom = now
        for id in connections.map(\.id) {
            guard let index = index(of: id) else { continue }
            connections[index].drain()
            // A failure of it does not delay the next connection.
            connections[index].isBlamed = true
            closeIfDrained(id)
        }
    }

    /// Handles a push on the wire whose old credential was refused: it is sent once more with the new one.
    mutating func oldCredentialRefused(_ push: PushIndex, _ answer: PushAnswer) {
        guard !pushes[push].hasRetriedProviderToken else { return reject(push, answer) }
        pushes[push].hasRetriedProviderToken = true
        giveBack(push, setback: answer.reason)
    }

    mutating func withdraw(_ id: PushID, reason: String) {
        guard let index = pushes.slot(of: id) else { return }
        switch pushes[index].phase {
        case .waiting, .held: break
        case .announced(let connection): release(connection)
        // The push may have arrived: its answer counts.
        case .submitting, .open: return
        }
        finish(index, .credentialGone, reason: reason)
    }
}
