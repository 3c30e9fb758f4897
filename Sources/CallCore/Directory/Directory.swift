import CallVocabulary

/// Users, their devices, sessions, groups and aliases, by key. No step of a call iterates over all of them.
struct Directory {
    private var users: [Handle: User] = [:]
    private var sessions: [ConnectionID: Session] = [:]
    /// The device that holds each push token. A token belongs to one device at a time.
    private var tokenHolders: [PushToken.Address: Device] = [:]
    /// Keyed by the UTF-8 bytes of their names: Swift compares strings by canonical equivalence, the store and clients
    /// compare bytes.
    private var groups: [[UInt8]: CallGroup] = [:]
    /// The number of groups that list each handle.
    private var memberships: [Handle: Int] = [:]
    private var aliases: [Handle: Handle] = [:]
    private var aliasesOfUser: [Handle: Set<Handle>] = [:]
    /// Block lists and forwarding, of the users that have any.
    private var rules: [Handle: CallRules] = [:]
    /// Since when tokens are good, of the users whose tokens were revoked.
    private var revocations: [Handle: Instant] = [:]
    /// Live calls to handles that are not registered yet.
    private var awaiting: [Handle: [Call]] = [:]
    private(set) var awaitedHandles = 0
    /// The policy of users that have none of their own.
    private var policy: UserPolicy

    init(policy: UserPolicy) { self.policy = policy }

    var sessionCount: Int { sessions.count }

    func user(_ handle: Handle) -> User? { users[handle] }

    /// The devices of all users, in the order of their handles.
    var devices: [Device] { users.values.sorted { $0.handle < $1.handle }.flatMap(\.devices) }

    mutating func addUser(_ handle: Handle) -> User {
        if let user = users[handle] { return user }
        let user = User(handle: handle, policy: policy)
        users[handle] = user
        if let calls = awaiting.removeValue(forKey: handle) {
            awaitedHandles -= calls.count
            user.liveCalls = calls
            for call in calls { call.members.append(user) }
        }
        return user
    }

    /// Sets the policy of all users that have none of their own. Iterates over all users.
    mutating func setPolicy(_ policy: UserPolicy) {
        self.policy = policy
        for user in users.values where !user.hasOwnPolicy { user.policy = policy }
    }

    /// The rules of a user; nil for a user without any.
    func rules(of user: Handle) -> CallRules? { rules.isEmpty ? nil : rules[user] }

    mutating func setRules(_ new: CallRules, of user: Handle) { rules[user] = new.isEmpty ? nil : new }

    // MARK: Revoked tokens

    /// The time from before which the user's tokens are refused; nil for a user without a revocation.
    func revocation(of user: Handle) -> Instant? { revocations.isEmpty ? nil : revocations[user] }

    /// - Returns: the time in effect, which never goes back.
    mutating func revokeTokens(of user: Handle, before time: Instant) -> Instant {
        let latest = max(time, revocations[user] ?? time)
        revocations[user] = latest
        return latest
    }

    // MARK: Calls to unregistered handles

    /// Keeps the call for the user, once the handle is registered.
    mutating func await(_ handle: Handle, for call: Call) {
        awaiting[handle, default: []].append(call)
        awaitedHandles += 1
    }

    mutating func stopAwaiting(_ handle: Handle, for call: Call) {
        guard var calls = awaiting[handle], let index = calls.firstIndex(where: { $0 === call }) else { return }
        calls.remove(at: index)
        awaiting[handle] = calls.isEmpty ? nil : calls
        awaitedHandles -= 1
    }

    // MARK: Sessions

    func session(on connection: ConnectionID) -> Session? { sessions[connection] }

    /// In a fixed order, the same in each run.
    var connections: [ConnectionID] {
        sessions.keys.sorted { ($0.shard, $0.serial) < ($1.shard, $1.serial) }
    }

    mutating func attach(_ session: Session, to connection: ConnectionID, at now: Instant) {
        session.connection = connection
        session.connectedAt = now
        sessions[connection] = session
    }

    /// Detaches the session from its connection; it may be resumed on another.
    mutating func detach(_ session: Session) {
        guard let connection = session.connection else { return }
        sessions[connection] = nil
        session.connection = nil
    }

    // MARK: Push tokens

    /// Gives `device` exactly these tokens, and takes them from their previous devices.
    /// - Returns: the other devices that lost a token.
    mutating func setTokens(_ tokens: [PushToken], of device: Device, now: Instant) -> [Device] {
        let before = device.tokens
        for held in before { tokenHolders[held.token.address] = nil }
        // A token registered again keeps its place, which tells the newest one. A 410 is compared with the latest time
        // at which the token was confirmed.
        var kept = before.filter { held in tokens.contains(held.token) }
        for index in kept.indices { kept[index].registeredAt = max(kept[index].registeredAt, now) }
        for token in tokens where !kept.contains(where: { $0.token == token }) {
            kept.append(DeviceRecord.Token(token: token, registeredAt: now))
        }
        device.tokens = kept
        var losers: [Device] = []
        for token in tokens {
            let address = token.address
            if let other = tokenHolders[address], other !== device {
                other.tokens.removeAll { $0.token.address == address }
                // The token identifies the phone, under either device: its pushes count against both.
                device.pushBound.take(over: other.pushBound)
                if !losers.contains(where: { $0 === other }) { losers.append(other) }
            }
            tokenHolders[address] = device
        }
        return losers
    }

    mutating func removeToken(_ token: PushToken, from device: Device) {
        device.tokens.removeAll { $0.token.isSameRegistration(as: token) }
        let address = token.address
        guard !device.tokens.contains(where: { $0.token.address == address }) else { return }
        if tokenHolders[address] === device { tokenHolders[address] = nil }
    }

    // MARK: Groups and aliases

    func group(_ name: String) -> CallGroup? { groups[Array(name.utf8)] }

    var groupCount: Int { groups.count }

    mutating func setGroup(_ group: CallGroup) {
        _ = deleteGroup(group.name)
        groups[Array(group.name.utf8)] = group
        for member in group.members { memberships[member, default: 0] += 1 }
    }

    /// - Returns: false when the group does not exist.
    mutating func deleteGroup(_ name: String) -> Bool {
        guard let group = groups.removeValue(forKey: Array(name.utf8)) else { return false }
        for member in group.members {
            let left = (memberships[member] ?? 1) - 1
            memberships[member] = left == 0 ? nil : left
        }
        return true
    }

    /// Whether an administrator has listed the user, in a group or behind an alias.
    func isListed(_ user: Handle) -> Bool { memberships[user] != nil || hasAliases(user) }

    /// The groups that `handle` is a member of, by name. Iterates over all groups.
    func groups(of handle: Handle) -> [CallGroup] {
        groupList.filter { group in group.members.contains { resolve($0) == handle } }
    }

    /// All groups, sorted by name.
    var groupList: [CallGroup] { groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value) }

    /// The user behind an alias; `handle` itself when it is no alias.
    func resolve(_ handle: Handle) -> Handle { aliases[handle] ?? handle }

    func isAlias(_ handle: Handle) -> Bool { aliases[handle] != nil }

    func aliases(of user: Handle) -> [Handle] { (aliasesOfUser[user] ?? []).sorted() }

    func hasAliases(_ user: Handle) -> Bool { aliasesOfUser[user] != nil }

    mutating func setAlias(_ alias: Alias) {
        _ = deleteAlias(alias.handle)
        aliases[alias.handle] = alias.user
        aliasesOfUser[alias.user, default: []].insert(alias.handle)
    }

    /// - Returns: false when the alias does not exist.
    mutating func deleteAlias(_ handle: Handle) -> Bool {
        guard let user = aliases.removeValue(forKey: handle) else { return false }
        aliasesOfUser[user]?.remove(handle)
        if aliasesOfUser[user]?.isEmpty == true { aliasesOfUser[user] = nil }
        return true
    }

    /// All aliases, sorted by handle.
    var aliasList: [Alias] { aliases.map { Alias(handle: $0, user: $1) }.sorted { $0.handle < $1.handle } }
    var aliasCount: Int { aliases.count }
}
