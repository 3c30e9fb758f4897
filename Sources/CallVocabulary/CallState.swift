/// What the caller is told of a call. States only move forward, and any of them may go to `ended`.
///
/// ```
/// routing ─▶ waking ─▶ ringing ─▶ answered ─▶ connected ─▶ ended(reason)
/// ```
public enum CallState: String, Sendable, CaseIterable {
    /// Accepted and durable; nobody has been told yet.
    case routing
    /// A push is on its way and no device rings yet.
    case waking
    /// At least one device said that it rings, or reported its push.
    case ringing
    /// Exactly one device won the call.
    case answered
    /// Both sides said that media flows.
    case connected
    case ended

    public var isLive: Bool { self != .ended }
    /// Still to be answered: the ring deadline runs.
    public var isRingingPhase: Bool { self == .routing || self == .waking || self == .ringing }
}

/// On which side of a call a device is.
public enum CallRole: String, Sendable, CaseIterable {
    case caller, callee

    public var other: CallRole { self == .caller ? .callee : .caller }
}
