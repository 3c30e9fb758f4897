import CallVocabulary

/// A live call, with state that only the session needs.
struct CallEntry: Equatable, Sendable {
    var call: PhoneCall
    /// Whether the app was told of the call.
    var isTold: Bool
    /// The wake token of the push that announced the call.
    @Secret var wakeToken: String?
    /// The server does not list the call any more; the reply to `call.get` will tell why.
    var isUnlisted = false
    /// When a call announced by a push stops ringing, on this phone's clock, while the server's clock is unknown.
    var ringsUntil: Duration?
    /// The deadline for which the server was asked about the call.
    var askedAbout: Instant?
    /// The phone's own candidates, while they may have to be sent again.
    var own: [OwnCandidates] = []
    /// When own candidates are sent again for which the server had no room.
    var repeatsOwnAt: Duration?
    /// Candidates of the other side that the app has.
    var known: Set<RawJSON> = []

    struct OwnCandidates: Equatable, Sendable {
        let batch: CallCandidates
        /// The id of the next request on the present connection; nil before the candidates are sent on it.
        var sentBefore: Int64?
        /// A later request on the connection was answered, so the candidates have arrived.
        var hasArrived = false
    }

    init(call: PhoneCall, isTold: Bool) {
        self.call = call
        self.isTold = isTold
    }

    /// The candidates that are new to the app; marks them as known.
    mutating func news(in candidates: some Sequence<RawJSON>) -> [RawJSON] {
        candidates.filter { candidate in
            // Beyond the bound candidates are passed on again, which is harmless.
            known.count < ClientSession.candidateLimit ? known.insert(candidate).inserted : !known.contains(candidate)
        }
    }
}

struct EndedCall: Equatable, Sendable {
    enum Certainty: Sendable {
        /// The server has reported the end.
        case told
        /// This phone concluded that the call was lost, perhaps wrongly.
        case guessed
        /// The user has declined or hung up, and the server may not know.
        case refused
    }

    let id: CallID
    let role: CallRole
    let reason: EndReason
    let certainty: Certainty
    /// Whether the app was told of the call.
    let isTold: Bool
    /// The call that won after a glare.
    var mergedInto: CallID?
}
