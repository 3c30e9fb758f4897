import CallVocabulary
import DequeModule
import Determinism

/// Who there is: users with their devices, devices with their session. Looked up by key, never walked as a whole.
struct Directory {
    private var users: [Handle: User] = [:]
    private var sessions: [ConnectionID: Session] = [:]
    /// Who holds a push token now. A token belongs to one device at a time.
    private var tokenHolders: [PushToken: Device] = [:]

    var sessionCount: Int { sessions.count }

    func user(_ handle: Handle) -> User? { users[handle] }

    mutating func addUser(_ handle: Handle) -> User {
        if let user = users[handle] { return user }
        let user = User(handle: handle)
        users[handle] = user
        return user
    }

    func session(on connection: ConnectionID) -> Session? { sessions[connection] }

    mutating func attach(_ session: Session, to connection: ConnectionID) {
        session.connection = connection
        sessions[connection] = session
    }

    /// Forgets which connection the session was on; it may be resumed on another.
    mutating func detach(_ session: Session) {
        guard let connection = session.connection else { return }
        sessions[connection] = nil
        session.connection = nil
    }

    /// Gives `device` exactly these tokens and takes them from whoever had them.
    /// - Returns: the other devices that lost a token.
    mutating func setTokens(_ tokens: [PushToken], of device: Device, now: Instant) -> [Device] {
        let before = device.tokens
        for held in before { tokenHolders[held.token] = nil }
        // What is registered again keeps its place in time: a 410 is judged by it, and it says which one is newest.
        var kept = before.filter { held in tokens.contains(held.token) }
        for token in tokens where !kept.contains(where: { $0.token == token }) {
            kept.append(DeviceRecord.Token(token: token, registeredAt: now))
        }
        device.tokens = kept
        var losers: [Device] = []
        for token in tokens {
            if let other = tokenHolders[token], other !== device {
                other.tokens.removeAll { $0.token == token }
                if !losers.contains(where: { $0 === other }) { losers.append(other) }
            }
            tokenHolders[token] = device
        }
        return losers
    }

    mutating func removeToken(_ token: PushToken, from device: Device) {
        device.tokens.removeAll { $0.token == token }
        if tokenHolders[token] === device { tokenHolders[token] = nil }
    }
}

/// Somebody who can be called.
final class User {
    let handle: Handle
    /// In the order they were first seen.
    var devices: [Device] = []
    /// The live calls this user has a part in, oldest first.
    var liveCalls: [Call] = []
    /// Newest last.
    var missed: [MissedCall] = []

    init(handle: Handle) { self.handle = handle }

    func device(_ id: DeviceID) -> Device? { devices.first { $0.key.device == id } }
}

/// One installation of an app under one user.
final class Device {
    let key: DeviceKey
    /// The directory keeps users for good, so the user outlives its devices.
    unowned let user: User
    var platform: Platform
    var app: String?
    var name: String?
    var tokens: [DeviceRecord.Token] = []
    var seenAt: Instant
    var unreportedStreak = 0
    var suspendedAt: Instant?
    var session: Session?
    /// Until when it has to come back for calls that it has no session for.
    var absence: DeadlineQueue<Deadline>.Token?
    /// Its parts in calls that are still in memory.
    var legs: [Leg] = []

    init(key: DeviceKey, user: User, platform: Platform, seenAt: Instant) {
        self.key = key
        self.user = user
        self.platform = platform
        self.seenAt = seenAt
    }

    convenience init(_ record: DeviceRecord, user: User) {
        self.init(key: record.key, user: user, platform: record.platform, seenAt: record.seenAt)
        app = record.app
        name = record.name
        unreportedStreak = record.unreportedStreak
        suspendedAt = record.suspendedAt
    }

    var record: DeviceRecord {
        DeviceRecord(
            key: key, platform: platform, app: app, name: name, tokens: tokens, seenAt: seenAt,
            unreportedStreak: unreportedStreak, suspendedAt: suspendedAt)
    }

    var party: Party { Party(user: key.user, device: key.device) }

    func leg(of call: Call) -> Leg? { legs.first { $0.call === call } }

    func registration(of token: PushToken) -> DeviceRecord.Token? { tokens.first { $0.token == token } }

    /// The token a call is pushed to: of several, the one registered last.
    var voipToken: PushToken? {
        guard suspendedAt == nil else { return nil }
        return tokens.last { $0.token.kind == .voip && $0.token.provider == .apns }?.token
    }

    /// Its session, if that may have a part in the call: one opened with a wake token knows of its own call only.
    func session(for call: Call) -> Session? {
        guard let session, session.mayAct(on: call.id) else { return nil }
        return session
    }
}
