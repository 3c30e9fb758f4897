/// What holds for calls to a user, on all devices.
public struct UserPolicy: Equatable, Sendable {
    /// On: a second call is offered beside the first. Off: it ends as `busy`.
    public var callWaiting = true
    public var decline = DeclinePolicy.all
    /// Nobody rings: calls end as `declined`, and are kept as missed.
    public var doNotDisturb = false
    public var missedCalls = MissedCallPush.off

    public init() {}
}

/// Whether devices without a session are pushed when their user has missed a call.
public enum MissedCallPush: String, Sendable, CaseIterable {
    /// They learn of it when they open a session.
    case off
    /// The user is told, unless not to be disturbed.
    case alert
    /// The app brings its badge and its history up to date, at most twice an hour; the user is told nothing.
    case background
}

/// What one device's decline says for the others of its user.
public enum DeclinePolicy: String, Sendable, CaseIterable {
    /// The user has declined, on every device.
    case all
    /// Only this device stops ringing.
    case device
}

/// A change to a ``UserPolicy``: what is nil stays as it is.
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

/// Another handle that a user is called by: `+81312345678` for `alice`.
public struct Alias: Hashable, Sendable {
    public var handle: Handle
    public var user: Handle

    public init(handle: Handle, user: Handle) {
        self.handle = handle
        self.user = user
    }
}
