import CallVocabulary

/// Who there is: users with their devices, devices with their session; groups and aliases. Looked up by key, never
/// walked as a whole on the way of a call.
struct Directory {
    private var users: [Handle: User] = [:]
    private var sessions: [ConnectionID: Session] = [:]
    /// Who holds a push token now. A token belongs to one device at a time.
    private var tokenHolders: [PushToken.Address: Device] = [:]
    /// By the bytes of their names: strings compare by canonical equivalence, a store and a peer compare bytes.
    private var groups: [[UInt8]: CallGroup] = [:]
    /// In how many groups each handle stands.
    private var memberships: [Handle: Int] = [:]
    private var aliases: [Handle: Handle] = [:]
    private var aliasesOfUser: [Handle: Set<Handle>] = [:]
    /// Live calls to handles that nobody has registered yet.
    private var awaiting: [Handle: [Call]] = [:]
    private(set) var awaitedHandles = 0
    /// What holds for users without a policy of their own.
    private var policy: UserPolicy

    init(policy: UserPolicy) { self.policy = policy }

    var sessionCount: Int { sessions.count }

    func user(_ handle: Handle) -> User? { users[handle] }

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

    /// What holds from now on for users without a policy of their own. Walks all users.
    mutating func setPolicy(_ policy: UserPolicy) {
        self.policy = policy
        for user in users.values where !user.hasOwnPolicy { user.policy = policy }
    }

    // MARK: Calls to come

    /// Offers the call to whoever registers under a handle that nobody has yet.
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

    /// In the order of their connections: the same on each run.
    var connections: [ConnectionID] {
        sessions.keys.sorted { ($0.shard, $0.serial) < ($1.shard, $1.serial) }
    }

    mutating func attach(_ session: Session, to connection: ConnectionID, at now: Instant) {
        session.connection = connection
        session.connectedAt = now
        sessions[connection] = session
    }

    /// Forgets which connection the session was on; it may be resumed on another.
    mutating func detach(_ session: Session) {
        guard let connection = session.connection else { return }
        sessions[connection] = nil
        session.connection = nil
    }

    // MARK: Push tokens

    /// Gives `device` exactly these tokens and takes them from whoever had them.
    /// - Returns: the other devices that lost a token.
    mutating func setTokens(_ tokens: [PushToken], of device: Device, now: Instant) -> [Device] {
        let before = device.tokens
        for held in before { tokenHolders[held.token.address] = nil }
        // What is registered again keeps its place, which says which one is newest. A 410 is judged by the latest time at
        // which it was confirmed.
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
                // Whichever device has the token, it is the same phone that was pushed.
                device.pushBound.take(over: other.pushBound)
                if !losers.contains(where: { $0 === other }) { losers.append(other) }
            }
            tokenHolders[address] = device
        }
        return losers
    }

    mutating func removeToken(_ token: PushToken, from device: Device) {
        device.tokens.removeAll { $0.token == token }
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

    /// - Returns: false when there is no such group.
    mutating func deleteGroup(_ name: String) -> Bool {
        guard let group = groups.removeValue(forKey: Array(name.utf8)) else { return false }
        for member in group.members {
            let left = (memberships[member] ?? 1) - 1
            memberships[member] = left == 0 ? nil : left
        }
        return true
    }

    /// Whether an administrator has named the user, in a group or behind an alias.
    func isListed(_ user: Handle) -> Bool { memberships[user] != nil || hasAliases(user) }

    /// The groups that `handle` is a member of, by name. Walks them all.
    func groups(of handle: Handle) -> [CallGroup] {
        groupList.filter { group in group.members.contains { resolve($0) == handle } }
    }

    /// By name.
    var groupList: [CallGroup] { groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value) }

    /// The user behind an alias, or the handle itself.
    func resolve(_ handle: Handle) -> Handle { aliases[handle] ?? handle }

    func isAlias(_ handle: Handle) -> Bool { aliases[handle] != nil }

    func aliases(of user: Handle) -> [Handle] { (aliasesOfUser[user] ?? []).sorted() }

    func hasAliases(_ user: Handle) -> Bool { aliasesOfUser[user] != nil }

    mutating func setAlias(_ alias: Alias) {
        _ = deleteAlias(alias.handle)
        aliases[alias.handle] = alias.user
        aliasesOfUser[alias.user, default: []].insert(alias.handle)
    }

    /// - Returns: false when there is no such alias.
    mutating func deleteAlias(_ handle: Handle) -> Bool {
        guard let user = aliases.removeValue(forKey: handle) else { return false }
        aliasesOfUser[user]?.remove(handle)
        if aliasesOfUser[user]?.isEmpty == true { aliasesOfUser[user] = nil }
        return true
    }

    /// By handle. Walks them all.
    var aliasList: [Alias] { aliases.map { Alias(handle: $0, user: $1) }.sorted { $0.handle < $1.handle } }
    var aliasCount: Int { aliases.count }
}
