import CallVocabulary

/// What the server knows of one name: the user, the alias or the group. A name that nobody has is an empty user, so
/// that calls to it can wait for its first device.
///
/// In memory while something needs it (``holds``), and some time after that: see ``IdleUsers``.
final class User {
    let handle: Handle
    var policy: UserPolicy
    /// Whether an administrator has set the user's policy; otherwise the default applies.
    var hasOwnPolicy = false
    /// Block list and forwarding.
    var rules = CallRules()
    /// The user's tokens from before this time are refused.
    var revokedBefore: Instant?
    /// In the order in which they were first seen.
    var devices: [Device] = []
    /// Dropped devices that calls in memory still have. A device that comes back is the same object again.
    var dropped: [DeviceID: Device] = [:]
    /// Also of devices that were dropped: the phone counts on, and may come back.
    var backgroundBudgets: [DeviceID: BackgroundBudget] = [:]
    /// The live calls this user has a part in, oldest first.
    var liveCalls: [Call] = []
    /// Bounds the calls by this user that cause a push.
    var pushBound = RateBound()
    /// Bounds the calls by this user, as the token says.
    var allowanceBound = RateBound()
    /// Newest last.
    var missed: [MissedCall] = []

    /// The user behind the alias of this name.
    var aliasOf: Handle?
    var aliases: Set<Handle> = []
    /// The group of this name.
    var group: CallGroup?
    /// The names of the groups that list this name.
    var memberships: Set<Handle> = []

    /// The number of sessions, notices, legs in memory, and calls in memory that the user placed or is called by.
    fileprivate(set) var holds = 0
    /// The store generation in which a record about this name was last written; 0 for none since it was read.
    var generation: UInt64 = 0
    /// Neighbours among the ``IdleUsers``.
    fileprivate unowned var older: User?
    fileprivate unowned var newer: User?

    init(handle: Handle, policy: UserPolicy) {
        self.handle = handle
        self.policy = policy
    }

    /// Whether the server has ever heard of a user of this name.
    var isRegistered: Bool {
        !devices.isEmpty || hasOwnPolicy || !rules.isEmpty || revokedBefore != nil || !missed.isEmpty
    }

    /// Whether an administrator has listed the user, in a group or behind an alias.
    var isListed: Bool { !memberships.isEmpty || !aliases.isEmpty }

    /// Whether another call makes the user busy for `call`.
    func isBusy(but call: Call) -> Bool {
        !policy.callWaiting && liveCalls.contains { $0 !== call && $0.engages(self) }
    }

    func device(_ id: DeviceID) -> Device? { devices.first { $0.key.device == id } }

    /// A call that has the device leaves memory.
    func forgetDropped(_ device: Device) {
        guard device.isDropped, !device.isInMemoryOfCalls, dropped[device.key.device] === device else { return }
        dropped[device.key.device] = nil
    }
}

/// The users in memory that nothing holds, the one not needed for longest first. A list through the users themselves:
/// each change takes constant time.
struct IdleUsers {
    private unowned var first: User?
    private unowned var last: User?
    private(set) var count = 0

    var oldest: User? { first }

    /// Adds a user that has come into memory.
    mutating func add(_ user: User) { append(user) }

    /// Something needs the user.
    mutating func hold(_ user: User) {
        user.holds += 1
        if user.holds == 1 { remove(user) }
    }

    /// One thing less needs the user.
    mutating func release(_ user: User) {
        user.holds -= 1
        if user.holds == 0 { append(user) }
    }

    /// Makes the user the one that was needed last.
    mutating func renew(_ user: User) {
        remove(user)
        append(user)
    }

    private mutating func append(_ user: User) {
        user.older = last
        last?.newer = user
        last = user
        if first == nil { first = user }
        count += 1
    }

    mutating func remove(_ user: User) {
        if let older = user.older { older.newer = user.newer } else { first = user.newer }
        if let newer = user.newer { newer.older = user.older } else { last = user.older }
        (user.older, user.newer) = (nil, nil)
        count -= 1
    }
}
