import CallVocabulary

/// ICE candidates: the only thing a client says that is answered by a refusal alone.
///
/// A message that the server answers proves that all before it on the same connection arrived. What is not proven is
/// said again over the next connection; a server that has lost the session is told of all, as long as media does not
/// flow.
extension ClientSession {
    /// How many of a call's candidates are remembered, on either side.
    static let candidateLimit = 256
    /// What a frame needs besides the candidates.
    private static let candidatesOverhead = 256

    mutating func gathered(_ candidates: CallCandidates, effects: inout [SessionEffect]) {
        guard let index = index(of: candidates.call) else { return }
        let isServed = isServed(candidates.call)
        candidates.forEachFrame(upTo: maxFrameBytes - Self.candidatesOverhead) { batch in
            if isServed { effects.append(.send(.notification(.candidates(batch)))) }
            guard calls[index].own.count < Self.candidateLimit else { return }
            let item = CallEntry.OwnCandidates(batch: batch, sentBefore: isServed ? nextRequest : nil)
            calls[index].own.append(item)
        }
    }

    /// The server has no room for more candidates of the call while the other side is away.
    mutating func candidatesRefused(_ call: CallID, _ error: SignalError, now: Duration) {
        guard let index = index(of: call), let wait = error.retryDelay else { return }
        calls[index].repeatsOwnAt = now + wait
    }

    /// Says all candidates of a call again: which of them were refused is not known, and the server knows the others.
    mutating func repeatRefusedCandidates(now: Duration, effects: inout [SessionEffect]) {
        for index in calls.indices where isServed(calls[index].call.id) {
            guard let due = calls[index].repeatsOwnAt, due <= now else { continue }
            calls[index].repeatsOwnAt = nil
            for own in calls[index].own { effects.append(.send(.notification(.candidates(own.batch)))) }
        }
    }

    /// Takes note of which candidates have arrived over the connection that is lost.
    mutating func candidatesLost() {
        for call in calls.indices {
            for index in calls[call].own.indices {
                guard let sentBefore = calls[call].own[index].sentBefore else { continue }
                calls[call].own[index].sentBefore = nil
                if sentBefore <= lastAnswered { calls[call].own[index].hasArrived = true }
            }
        }
    }

    /// Says again what may not have arrived.
    /// - Parameter isFresh: the server may have lost what it had.
    mutating func repeatCandidates(isFresh: Bool, effects: inout [SessionEffect]) {
        for call in calls.indices where isServed(calls[call].call.id) {
            let isNeeded = isFresh && calls[call].call.state != .connected
            for index in calls[call].own.indices where calls[call].own[index].sentBefore == nil {
                guard isNeeded || !calls[call].own[index].hasArrived else { continue }
                calls[call].own[index].sentBefore = nextRequest
                effects.append(.send(.notification(.candidates(calls[call].own[index].batch))))
            }
        }
    }
}
