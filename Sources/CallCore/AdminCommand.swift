import CallVocabulary

/// What an administrator asks for.
public enum AdminCommand: Equatable, Sendable {
    case listGroups
    case showGroup(String)
    /// Makes the group, or takes the place of the one with its name. Calls under way keep the members they have.
    case setGroup(CallGroup)
    case deleteGroup(String)
    case showUser(Handle)
    case setUser(Handle, UserPolicyChange)
    case listAliases
    /// Makes the alias, or turns it to another user.
    case setAlias(Alias)
    case deleteAlias(Handle)
    /// Ends the suspension of a device that does not report its pushes: calls make it ring by itself again.
    case resumeDevice(Handle, DeviceID)
    /// Ends a live call for everybody, with the reason `admin`.
    case endCall(CallID)
    /// Ends the session of a device, which cannot be resumed then.
    case dropSession(Handle, DeviceID)
}

/// What an administrator is answered. A change is on disk by then.
public enum AdminReply: Equatable, Sendable {
    case done
    case groups([CallGroup])
    case group(CallGroup)
    case user(UserSummary)
    case aliases([Alias])
}

/// Names one administrator's request within this process, until it is answered.
public struct AdminRequestID: Hashable, Sendable {
    public let serial: UInt64

    public init(serial: UInt64) { self.serial = serial }
}
