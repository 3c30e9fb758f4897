/// A user's settings for incoming calls, on all devices.
public struct UserPolicy: Equatable, Sendable {
    /// Whether a second call is offered during the first; if not, it ends as `busy`.
    public var callWaiting = true
    public var decline = DeclinePolicy.all
    /// Do not disturb: no device rings. Calls end as `declined`, and are recorded as missed.
    public var doNotDisturb = false
    public var missedCalls = MissedCallPush.off

    public init() {}
}

/// Whether devices without a session are pushed when their user has missed a call.
public enum MissedCallPush: String, Sendable, CaseIterable {
    /// No push: devices learn of the missed call when they open a session.
    case off
    /// An alert to the user, unless do not disturb is on.
    case alert
    /// A background push, by default at most twice an hour: the app updates its badge and history, the user sees nothing.
    case background
}

/// The effect of one device's decline on the user's other devices.
public enum DeclinePolicy: String, Sendable, CaseIterable {
    /// All devices of the user stop ringing.
    case all
    /// Only the declining device stops ringing.
    case device
}

/// A change to a ``UserPolicy``; nil keeps the present value.
public struct UserPolicyChange: Equatable, Sendable {
    public var callWaiting: Bool?
    public var decline: DeclinePolicy?
    public var doNotDisturb: Bool?
    public var missedCalls: MissedCallPush?

    public init(
        callWaiting: Bool? = nil, decline: DeclinePolicy? = nil, doNotDisturb: Bool? = nil,
        missedCalls: MissedCallPush? = nil
    ) {
        self.callWaiting = callWaiting
        self.decline = decline
        self.doNotDisturb = doNotDisturb
        self.missedCalls = missedCalls
    }
}

/// An additional handle of a user: `+81312345678` for `alice`.
public struct Alias: Hashable, Sendable {
    public var handle: Handle
    public var user: Handle

    public init(handle: Handle, user: Handle) {
        self.handle = handle
        self.user = user
    }
}
