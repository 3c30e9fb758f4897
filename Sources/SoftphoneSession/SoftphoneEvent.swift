import CallVocabulary

/// The events that a phone reports to its app, in order.
public enum SoftphoneEvent: Equatable, Sendable {
    /// An incoming call, to be shown now. Reported once per call, whether an event or a push announced it.
    ///
    /// A call announced by a push has no session description and candidates; ``offer(_:)`` and ``candidates(_:)``
    /// follow with them.
    case incoming(PhoneCall, candidates: [RawJSON])
    /// The details of a call. ``incoming(_:candidates:)`` announced the call without them, or they have changed since.
    case offer(PhoneCall)
    /// The call's state changed. Also reported for a call that this phone did not know when a session opened.
    case state(PhoneCall)
    /// The call has ended; reported once per call.
    case ended(PhoneCall)
    /// Both sides called each other, and the server ended the first call in favour of the second. Reported once, after
    /// ``ended(_:)`` of the first call, and before or after the second is known here.
    case merged(CallID, into: CallID)
    /// The other side's ICE candidates.
    case candidates(CallCandidates)
    /// The other side renegotiates, holds, mutes or sends an update of its own.
    case update(CallUpdate)
    /// The other side of an answered call has lost its connection, or has regained it: ``PhoneCall/peerAwaySince``.
    case peer(PhoneCall)
    /// A push for a call that has already ended. The system still requires it to be reported to CallKit and ended at
    /// once.
    case latePush(CallPush, EndReason)
    case connection(ConnectionChange)
    /// The server closes the connection within `deadline`; the phone reconnects by itself.
    case draining(deadline: Duration)
}

/// A change of a phone's connection.
public enum ConnectionChange: Equatable, Sendable {
    /// A new session. It contains the server's calls and missed calls, and the phone's calls are updated by them.
    case up(SessionOpened)
    /// The session was resumed without loss.
    case resumed(SessionOpened)
    /// The connection was lost or could not be made. The phone retries after `retryIn`. `code` is nil without a close
    /// frame.
    case down(code: UInt16?, reason: String, retryIn: Duration)
    /// The session has ended; the phone does not retry by itself.
    case gone(GoneReason)
    /// Offline, as requested by `disconnect` or `logout`.
    case offline
}
