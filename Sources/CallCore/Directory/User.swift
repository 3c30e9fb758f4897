import CallVocabulary
import DequeModule

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
    var rules = CallRules() { didSet { blocked = Set(rules.blocked) } }
    /// The block list: each call to the user is compared with it.
    private(set) var blocked: Set<Handle> = []
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
    /// Those that this user has placed.
    var ownCalls: [Call] = []
    /// The ended calls in memory that this user has placed, oldest first. May contain some that have left.
    var endedCalls: Deque<CallID> = []
    /// What the calls that this user has placed take of ``CoreLimits/callBytesPerUser``.
    var callBytes = 0
    /// Bounds the calls by this user that cause a push.
    var pushBound = RateBound()
    /// The same for each callee.
    var pairBounds = PairBounds()
    /// Bounds the pushes of the calls by this user; `noticeBound` and `noticePairBounds` bound those about missed calls.
    var devicePushBound = RateBound()
    var noticeBound = RateBound()
    var noticePairBounds = PairBounds()
    /// Bounds the calls by this user, as the token says.
    var allowanceBound = RateBound()
    /// Bounds the bytes that this user's requests and calls write to disk.
    var storageBound = RateBound()
    var deviceUpdateBound = RateBound()
    /// Bounds the events with candidates of this user's calls that ring.
    var candidateBound = RateBound()
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

    /// Whether nobody has the name: it is no user, no alias and no group.
    var isNobody: Bool { !isRegistered && !isListed && aliasOf == nil && group == nil }

    /// Whether another call makes the user busy for `call`: one that the user has placed, or in which a device of the
    /// user has a leg that has not ended.
    func isBusy(but call: Call) -> Bool {
        guard !policy.callWaiting else { return false }
        func isEngaged(_ device: Device) -> Bool { device.liveLegs.contains { $0.call !== call } }
        return ownCalls.contains { $0 !== call } || devices.contains(where: isEngaged)
            || dropped.values.contains(where: isEngaged)
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

    /// One thing less needs the user. A name that nobody has leaves before those that somebody has: a caller can make up
    /// any number of them.
    mutating func release(_ user: User) {
        user.holds -= 1
        guard user.holds == 0 else { return }
        if user.isNobody { prepend(user) } else { append(user) }
    }

    /// Makes the user, if nothing holds it, the first to leave.
    mutating func demote(_ user: User) {
        guard user.holds == 0 else { return }
        remove(user)
        prepend(user)
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

    private mutating func prepend(_ user: User) {
        user.newer = first
        first?.older = user
        first = user
        if last == nil { last = user }
        count += 1
    }

    mutating func remove(_ user: User) {
        if let older = user.older { older.newer = user.newer } else { first = user.newer }
        if let newer = user.newer { newer.older = user.older } else { last = user.older }
        (user.older, user.newer) = (nil, nil)
        count -= 1
    }
}
