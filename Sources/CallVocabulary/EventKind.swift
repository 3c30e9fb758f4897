/// The events that the server tells other systems (webhooks). The raw value is the `type` of the message.
public enum EventKind: String, Sendable, CaseIterable {
    case callInvited = "call.invited"
    /// The first device rings.
    case callRinging = "call.ringing"
    case callAnswered = "call.answered"
    /// Both sides have media.
    case callConnected = "call.connected"
    /// For any reason.
    case callEnded = "call.ended"
    /// Once for each user who missed the call, after `call.ended`.
    case callMissed = "call.missed"
    /// The provider refused the push of a call.
    case pushRejected = "push.rejected"
    /// The device did not report the push of a call in time.
    case pushUnreported = "push.unreported"
    /// The device is new, or its push tokens changed.
    case deviceRegistered = "device.registered"
    /// The device left pushes unreported, and now gets VoIP pushes only as probes.
    case deviceSuspended = "device.suspended"
    case deviceResumed = "device.resumed"
    /// The provider declared a token of the device invalid; the token is dropped.
    case deviceTokenDead = "device.token_dead"
}
