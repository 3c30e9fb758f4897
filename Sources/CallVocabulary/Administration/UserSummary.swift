/// A user, as shown to an administrator.
public struct UserSummary: Equatable, Sendable {
    public var handle: Handle
    public var policy: UserPolicy
    public var rules: CallRules
    public var aliases: [Handle]
    /// Names of the groups the user is a member of.
    public var groups: [String]
    public var devices: Int
    public var devicesOnline: Int
    public var liveCalls: Int
    /// The user's tokens from before this time are refused; nil for a user without a revocation.
    public var revokedBefore: Instant?

    public init(
        handle: Handle, policy: UserPolicy, rules: CallRules = CallRules(), aliases: [Handle], groups: [String],
        devices: Int, devicesOnline: Int, liveCalls: Int, revokedBefore: Instant? = nil
    ) {
        self.handle = handle
        self.policy = policy
        self.rules = rules
        self.aliases = aliases
        self.groups = groups
        self.devices = devices
        self.devicesOnline = devicesOnline
        self.liveCalls = liveCalls
        self.revokedBefore = revokedBefore
    }
}

/// Why an administrator's command was refused: a code for programs and a sentence for people.
public struct AdminRefusal: Error, Equatable, Sendable {
    public enum Code: String, Sendable, CaseIterable {
        case notFound = "not_found"
        case conflict
        case invalidParams = "invalid_params"
        case limitReached = "limit_reached"
        /// Nothing is wrong with the command: the same one may succeed shortly.
        case overloaded
    }

    public var code: Code
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
