import CallVocabulary

/// What a phone tells its app, in the order it happened.
public enum SoftphoneEvent: Equatable, Sendable {
    /// Somebody calls: shown to the user now. Comes once a call, however the phone learned of it.
    ///
    /// A call that a push told of comes without session description and candidates; ``offer(_:)`` and
    /// ``candidates(_:)`` bring them.
    case incoming(PhoneCall, candidates: [RawJSON])
    /// The details of a call that ``incoming(_:candidates:)`` announced without them, or that have changed since.
    case offer(PhoneCall)
    /// The call has moved on. Also for a call that was found when a session opened and this phone did not know.
    case state(PhoneCall)
    /// The call is over; comes once a call.
    case ended(PhoneCall)
    /// Both sides called each other, and the server ended the first of these calls in favour of the second: one call is
    /// left to show. Comes once, after ``ended(_:)`` for the loser, and before or after the winner is known here.
    case merged(CallID, into: CallID)
    /// The other side's ICE candidates.
    case candidates(CallCandidates)
    /// The other side renegotiates, holds, mutes or says something of its own.
    case update(CallUpdate)
    /// The other side of an answered call has lost its connection, or has one again: ``PhoneCall/peerAwaySince``.
    case peer(PhoneCall)
    /// A push for a call that is already over. The system still wants it reported, and ended at once.
    case latePush(CallPush, EndReason)
    case connection(ConnectionChange)
    /// The server will close the connection within `deadline`; the phone comes back by itself.
    case draining(deadline: Duration)
}

/// What happens to a phone's connection.
public enum ConnectionChange: Equatable, Sendable {
    /// A new session: the server's word on calls and missed calls is in it, and the phone's calls follow it.
    case up(SessionOpened)
    /// The session goes on where it was; nothing was lost.
    case resumed(SessionOpened)
    /// Lost, or not reached. The phone tries again after `retryIn`. `code` is nil without a close frame.
    case down(code: UInt16?, reason: String, retryIn: Duration)
    /// Over; the phone does not try again by itself.
    case gone(GoneReason)
    /// Off, as asked for with `disconnect` or `logout`.
    case offline
}
