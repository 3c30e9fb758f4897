import CallVocabulary

/// An administrator's command.
public enum AdminCommand: Equatable, Sendable {
    case showGroup(String)
    /// Creates or replaces the group with its name. Calls in progress keep their members.
    case setGroup(CallGroup)
    case deleteGroup(String)
    case showUser(Handle)
    case setUser(Handle, UserPolicyChange)
    /// Adds callers to the user's block list.
    case block(Handle, [Handle])
    /// Removes callers from the user's block list.
    case unblock(Handle, [Handle])
    /// Sets where calls go that the user does not answer; nil for both ends forwarding.
    case forward(Handle, busy: CallTarget?, noAnswer: CallTarget?, after: Duration?)
    /// Logs all devices of the user out, and refuses the user's tokens from before the time; nil for now.
    case revokeTokens(Handle, before: Instant?)
    /// Creates the alias, or changes its user.
    case setAlias(Alias)
    case deleteAlias(Handle)
    /// Ends the suspension of a device that does not report its pushes: calls are pushed to it again.
    case resumeDevice(Handle, DeviceID)
    /// Drops the device with its tokens, its session and its parts in live calls.
    case deleteDevice(Handle, DeviceID)
    /// Ends a live call for all parties, with the reason `admin`.
    case endCall(CallID)
    /// Ends a device's session for good: it cannot be resumed.
    case dropSession(Handle, DeviceID)
}

/// The reply to an administrator's command. A change is on disk before the reply.
public enum AdminReply: Equatable, Sendable {
    case done
    case group(CallGroup)
    case user(UserSummary)
}

/// Identifies an administrator's request within this process, until it is answered.
public struct AdminRequestID: Hashable, Sendable {
    public let serial: UInt64

    public init(serial: UInt64) { self.serial = serial }
}
