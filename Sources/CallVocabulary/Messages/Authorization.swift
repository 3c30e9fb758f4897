/// What a backend is asked before the server accepts an invite.
public struct AuthorizationQuestion: Equatable, Sendable {
    /// Distinguishes questions about one call id.
    public var number: UInt64
    public var call: CallID
    public var caller: Party
    public var to: CallTarget
    public var video: Bool
    public var custom: RawJSON?

    public init(number: UInt64, call: CallID, caller: Party, to: CallTarget, video: Bool, custom: RawJSON?) {
        self.number = number
        self.call = call
        self.caller = caller
        self.to = to
        self.video = video
        self.custom = custom
    }
}

/// The question to a backend before the server opens a session.
public struct SessionQuestion: Equatable, Sendable {
    /// Distinguishes questions about one connection.
    public var number: UInt64
    public var user: Handle
    public var device: DeviceDescription

    public init(number: UInt64, user: Handle, device: DeviceDescription) {
        self.number = number
        self.user = user
        self.device = device
    }
}

/// A backend's answer.
public enum AuthorizationAnswer: Equatable, Sendable {
    /// The permit has no effect on a session.
    indirect case allowed(CallPermit)
    /// With the reason for the client.
    case refused(String)
    /// There is no answer: the policy for failures decides.
    case failed
    /// There is no answer, and the user's other questions may be the cause, because they are many: no policy allows it.
    case crowded
    /// The question was not sent, because other questions left no place, or those of users whose questions failed or were
    /// slow left none for this one of them: no policy allows it.
    case unasked
}

/// What a backend changes in an invite that it allows; nil keeps it.
public struct CallPermit: Equatable, Sendable {
    public var to: CallTarget?
    /// The name that the callees see.
    public var fromName: String?
    /// At most the server's longest ring time counts.
    public var ringTime: Duration?

    public init(to: CallTarget? = nil, fromName: String? = nil, ringTime: Duration? = nil) {
        self.to = to
        self.fromName = fromName
        self.ringTime = ringTime
    }
}
