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

/// A user as an administrator sees one.
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

/// Why an administrator is refused: a word for programs and a sentence for people.
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

/// Names one administrator's request within this process, until it is answered.
public struct AdminRequestID: Hashable, Sendable {
    public let serial: UInt64

    public init(serial: UInt64) { self.serial = serial }
}
