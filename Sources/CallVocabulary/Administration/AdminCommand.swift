/// An administrator's command.
public enum AdminCommand: Equatable, Sendable {
    case listGroups
    case showGroup(String)
    /// Creates or replaces the group with its name. Calls in progress keep their members.
    case setGroup(CallGroup)
    case deleteGroup(String)
    case showUser(Handle)
    case setUser(Handle, UserPolicyChange)
    case listAliases
    /// Creates the alias, or changes its user.
    case setAlias(Alias)
    case deleteAlias(Handle)
    /// Ends the suspension of a device that does not report its pushes: calls are pushed to it again.
    case resumeDevice(Handle, DeviceID)
    /// Ends a live call for all parties, with the reason `admin`.
    case endCall(CallID)
    /// Ends a device's session for good: it cannot be resumed.
    case dropSession(Handle, DeviceID)
}

/// The reply to an administrator's command. A change is on disk before the reply.
public enum AdminReply: Equatable, Sendable {
    case done
    case groups([CallGroup])
    case group(CallGroup)
    case user(UserSummary)
    case aliases([Alias])
}

/// A user, as shown to an administrator.
public struct UserSummary: Equatable, Sendable {
    public var handle: Handle
    public var policy: UserPolicy
    public var aliases: [Handle]
    /// Names of the groups the user is a member of.
    public var groups: [String]
    public var devices: Int
    public var devicesOnline: Int
    public var liveCalls: Int

    public init(
        handle: Handle, policy: UserPolicy, aliases: [Handle], groups: [String], devices: Int, devicesOnline: Int,
        liveCalls: Int
    ) {
        self.handle = handle
        self.policy = policy
        self.aliases = aliases
        self.groups = groups
        self.devices = devices
        self.devicesOnline = devicesOnline
        self.liveCalls = liveCalls
    }
}

/// Why an administrator's command was refused: a code for programs and a sentence for people.
public struct AdminRefusal: Error, Equatable, Sendable {
    public enum Code: String, Sendable, CaseIterable {
        case notFound = "not_found"
        case conflict
        case invalidParams = "invalid_params"
        case limitReached = "limit_reached"
    }

    public var code: Code
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// Identifies an administrator's request within this process, until it is answered.
public struct AdminRequestID: Hashable, Sendable {
    public let serial: UInt64

    public init(serial: UInt64) { self.serial = serial }
}
