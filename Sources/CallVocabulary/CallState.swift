/// The state of a call, as told to the caller. States only move forward; each may go to `ended`.
///
/// ```
/// routing ─▶ waking ─▶ ringing ─▶ answered ─▶ connected ─▶ ended(reason)
/// ```
public enum CallState: String, Sendable, CaseIterable {
    /// Accepted and durable; no device has been told yet.
    case routing
    /// A push was queued or sent, and no device rings yet.
    case waking
    /// At least one device has reported that it rings, or has reported its push.
    case ringing
    /// Exactly one device won the call.
    case answered
    /// Both sides have reported media.
    case connected
    case ended

    /// The position in the one direction that a call goes, from 0 for `routing` to 5 for `ended`.
    public var rank: Int {
        switch self {
        case .routing: 0
        case .waking: 1
        case .ringing: 2
        case .answered: 3
        case .connected: 4
        case .ended: 5
        }
    }

    public var isLive: Bool { self != .ended }
    /// Not answered yet: the ring deadline applies.
    public var isRingingPhase: Bool { self == .routing || self == .waking || self == .ringing }
}

/// A device's side of a call.
public enum CallRole: String, Sendable, CaseIterable {
    case caller, callee

    public var other: CallRole { self == .caller ? .callee : .caller }
}
