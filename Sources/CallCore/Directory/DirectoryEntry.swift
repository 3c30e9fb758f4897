import CallVocabulary

/// What the store has under one name: a user, an alias, a group, or several of them. Empty for a name that it does not
/// have.
public struct DirectoryEntry: Equatable, Sendable {
    public var name: Handle
    /// In the order of their ids.
    public var devices: [DeviceRecord] = []
    /// nil for a user without a policy of their own.
    public var policy: UserPolicy?
    public var rules = CallRules()
    /// The user's tokens from before this time are refused; nil without a revocation.
    public var revokedBefore: Instant?
    /// Oldest first.
    public var missed: [MissedCall] = []
    /// The latest background pushes, which count against a device's limit, oldest first.
    public var sentSyncs: [SentSync] = []
    /// The user behind the alias of this name; nil when it is no alias.
    public var aliasOf: Handle?
    /// The aliases of the user of this name.
    public var aliases: [Handle] = []
    /// The group of this name. Groups and users have separate names: one entry may be both.
    public var group: CallGroup?
    /// The names of the groups that list this name as a member.
    public var memberships: [Handle] = []

    public struct SentSync: Equatable, Sendable {
        public var device: DeviceID
        public var sentAt: Instant

        public init(device: DeviceID, sentAt: Instant) {
            self.device = device
            self.sentAt = sentAt
        }
    }

    public init(name: Handle) { self.name = name }
}
