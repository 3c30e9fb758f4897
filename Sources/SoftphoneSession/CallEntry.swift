import CallVocabulary

/// A live call, and what only the session needs to know of it.
struct CallEntry: Equatable, Sendable {
    var call: PhoneCall
    /// Whether the app knows of it.
    var isTold: Bool
    /// From the push that told of it.
    @Secret var wakeToken: String?
    /// The server does not list it any more; what it answers to a question about it will tell why.
    var isUnlisted = false
    /// How long it rings at most, on this phone's clock, where a push told of it and the server's clock is not known.
    var ringsUntil: Duration?
    /// The server was asked about it for the deadline it has.
    var askedAbout: Instant?
    /// The phone's own candidates, as long as the server may have to be told of them again.
    var own: [OwnCandidates] = []
    /// When those are said again that the server had no room for.
    var repeatsOwnAt: Duration?
    /// The other side's candidates that the app has.
    var known: Set<RawJSON> = []

    struct OwnCandidates: Equatable, Sendable {
        let batch: CallCandidates
        /// The request that comes after it on the connection at hand; nil before it is sent there.
        var sentBefore: Int64?
        /// Something that was sent later has been answered, so this has arrived.
        var hasArrived = false
    }

    init(call: PhoneCall, isTold: Bool) {
        self.call = call
        self.isTold = isTold
    }

    /// Those of `candidates` that the app does not have; from now on it has them.
    mutating func news(in candidates: some Sequence<RawJSON>) -> [RawJSON] {
        candidates.filter { candidate in
            // Past the bound they are told again, which does no harm.
            known.count < ClientSession.candidateLimit ? known.insert(candidate).inserted : !known.contains(candidate)
        }
    }
}

struct EndedCall: Equatable, Sendable {
    enum Certainty: Sendable {
        /// The server has said so.
        case told
        /// This phone took it for lost, and may be wrong.
        case guessed
        /// The user has turned it away or hung up, and the server may not know.
        case refused
    }

    let id: CallID
    let role: CallRole
    let reason: EndReason
    let certainty: Certainty
    /// Whether the app was told of the call.
    let isTold: Bool
    /// The call that won where both sides called each other.
    var mergedInto: CallID?
}
