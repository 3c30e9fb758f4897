import CallVocabulary

/// The users in memory with their devices, the sessions, and the holders of push tokens, by key. No step of a call
/// iterates over all of them.
struct Directory {
    private var users: [Handle: User] = [:]
    private var sessions: [ConnectionID: Session] = [:]
    /// The device in memory that holds each push token. A token belongs to one device at a time.
    private var tokenHolders: [PushToken.Address: Device] = [:]
    private(set) var idle = IdleUsers()
    /// The policy of users that have none of their own.
    private var policy: UserPolicy

    init(policy: UserPolicy) { self.policy = policy }

    var sessionCount: Int { sessions.count }
    var userCount: Int { users.count }

    /// What is known of the name; nil when it is not in memory.
    func user(_ handle: Handle) -> User? { users[handle] }

    /// What is known of a name that is in memory: because something holds it, or because this step has looked it up.
    func known(_ handle: Handle) -> User {
        guard let user = users[handle] else { preconditionFailure("\(handle) is used and was not looked up") }
        return user
    }

    /// The devices of all users in memory, in the order of their handles.
    var devices: [Device] { users.values.sorted { $0.handle < $1.handle }.flatMap(\.devices) }

    /// Adds a name that is not in memory. Nothing holds it yet.
    mutating func add(_ handle: Handle) -> User {
        let user = User(handle: handle, policy: policy)
        users[handle] = user
        idle.add(user)
        return user
    }

    mutating func hold(_ user: User) { idle.hold(user) }
    mutating func release(_ user: User) { idle.release(user) }
    mutating func renew(_ user: User) { idle.renew(user) }
    mutating func demote(_ user: User) { idle.demote(user) }

    /// Removes an idle user from memory.
    mutating func remove(_ user: User) {
        idle.remove(user)
        for token in user.devices.flatMap(\.tokens) where tokenHolders[token.token.address]?.user === user {
            tokenHolders[token.token.address] = nil
        }
        users[user.handle] = nil
    }

    /// Sets the policy of all users that have none of their own. Iterates over all users in memory.
    mutating func setPolicy(_ policy: UserPolicy) {
        self.policy = policy
        for user in users.values where !user.hasOwnPolicy { user.policy = policy }
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

    /// Whether a device in memory holds the token.
    func isHeld(_ token: PushToken.Address) -> Bool { tokenHolders[token] != nil }

    // MARK: Groups and aliases

    func group(_ name: String) -> CallGroup? { Handle(known: name).flatMap { users[$0]?.group } }

    /// The user behind an alias; `handle` itself when it is no alias.
    func resolve(_ handle: Handle) -> Handle { users[handle]?.aliasOf ?? handle }

    func isAlias(_ handle: Handle) -> Bool { users[handle]?.aliasOf != nil }
}
