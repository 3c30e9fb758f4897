import CallVocabulary

/// ICE candidates: the only client message that gets no reply unless it is refused.
///
/// A reply proves that all earlier messages on the same connection have arrived. Unproven candidates are sent again
/// over the next connection. A server that has lost the session gets all of them again, until media flows.
extension ClientSession {
    /// The most candidates remembered per call and side.
    static let candidateLimit = 256
    /// Bytes of a frame besides the candidates.
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

    /// Sends all candidates of a call again: which ones were refused is unknown, and the server ignores duplicates.
    mutating func repeatRefusedCandidates(now: Duration, effects: inout [SessionEffect]) {
        for index in calls.indices where isServed(calls[index].call.id) {
            guard let due = calls[index].repeatsOwnAt, due <= now else { continue }
            calls[index].repeatsOwnAt = nil
            for own in calls[index].own { effects.append(.send(.notification(.candidates(own.batch)))) }
        }
    }

    /// Notes which candidates have arrived over the lost connection.
    mutating func candidatesLost() {
        for call in calls.indices {
            for index in calls[call].own.indices {
                guard let sentBefore = calls[call].own[index].sentBefore else { continue }
                calls[call].own[index].sentBefore = nil
                if sentBefore <= lastAnswered { calls[call].own[index].hasArrived = true }
            }
        }
    }

    /// Sends candidates again that may not have arrived.
    /// - Parameter isFresh: whether the session is new, so that the server may have lost all of them.
    mutating func repeatCandidates(isFresh: Bool, effects: inout [SessionEffect]) {
        for call in calls.indices where isServed(calls[call].call.id) {
            let isNeeded = isFresh && calls[call].call.state != .connected
            for index in calls[call].own.indices where calls[call].own[index].sentBefore == nil {
                // What the server has lost may be lost on its way again.
                if isNeeded { calls[call].own[index].hasArrived = false }
                guard !calls[call].own[index].hasArrived else { continue }
                calls[call].own[index].sentBefore = nextRequest
                effects.append(.send(.notification(.candidates(calls[call].own[index].batch))))
            }
        }
    }
}
