import CallVocabulary
import DequeModule
import Determinism

/// One installation of an app under one user.
final class Device {
    let key: DeviceKey
    /// Unsafe, and so without a count: the directory keeps users for good, so the user outlives its devices.
    unowned(unsafe) let user: User
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
    /// How many calls in memory it has placed.
    var placedCalls = 0
    /// Its parts in calls that are still in memory, oldest first: the first to come are the first to go.
    var legs: Deque<Leg> = []
    /// Those of them that a sign of life is awaited for.
    var undelivered: [Leg] = []
    /// Open pushes about missed calls, oldest first.
    var notices: [Notice] = []
    var backgroundBudget = BackgroundBudget()

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

    func registration(of token: PushToken) -> DeviceRecord.Token? { tokens.first { $0.token == token } }

    /// Its session, if that may have a part in the call: one opened with a wake token knows of its own call only.
    func session(for call: Call) -> Session? {
        guard let session, session.mayAct(on: call.id) else { return nil }
        return session
    }
}
