import CallVocabulary
import Determinism

/// One installation of an app under one user.
final class Device {
    let key: DeviceKey
    /// Its user holds it.
    unowned let user: User
    var platform: Platform
    var app: String?
    var name: String?
    var tokens: [DeviceRecord.Token] = []
    var seenAt: Instant
    var unreportedStreak = 0
    var suspendedAt: Instant?
    /// See ``DeviceRecord``.
    var probes = 0
    var nextProbeAt: Instant?
    var session: Session?
    /// Since it logged out it has opened no session of its own: no wake token opens one for it.
    var hasLoggedOut = false
    /// Until when it has to come back for calls that it has no session for.
    var absence: DeadlineQueue<Deadline>.Token?
    /// How many calls in memory it has placed.
    var placedCalls = 0
    /// How many parts it has in calls in memory.
    private(set) var legCount = 0
    /// Those of them that have not ended.
    private(set) var liveLegs: [Leg] = []
    /// Those that ended after their push was sent: of their end each new session is told, until the device knows of it and
    /// has the push.
    private(set) var endsToTell: [Leg] = []
    /// Those that a sign of life is awaited for.
    var undelivered: [Leg] = []
    /// What other sides of its calls have sent for a session that is still to come, oldest first.
    var heldMedia: [ServerEvent] = []
    /// Open pushes about missed calls, oldest first.
    var notices: [Notice] = []
    var backgroundBudget = BackgroundBudget()
    /// Of pushes for calls, and of alerts about missed calls.
    var pushBound = RateBound()
    var noticeBound = RateBound()

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
        probes = record.probes
        nextProbeAt = record.nextProbeAt
    }

    var record: DeviceRecord {
        DeviceRecord(
            key: key, platform: platform, app: app, name: name, tokens: tokens, seenAt: seenAt,
            unreportedStreak: unreportedStreak, suspendedAt: suspendedAt, probes: probes, nextProbeAt: nextProbeAt)
    }

    var party: Party { Party(user: key.user, device: key.device) }

    func registration(of token: PushToken) -> DeviceRecord.Token? { tokens.first { $0.token == token } }

    /// The token was good at that time. It keeps its place among the device's tokens.
    func confirm(_ token: PushToken, at time: Instant) {
        guard let index = tokens.firstIndex(where: { $0.token == token }) else { return }
        tokens[index].registeredAt = max(tokens[index].registeredAt, time)
    }

    /// Keeps candidates for the next session that may act on their call.
    /// - Returns: false where there is no room for them.
    func hold(_ batch: CallCandidates, _ limits: CoreLimits) -> Bool {
        var buffer = CandidateBuffer()
        for case .candidates(let held) in heldMedia where held.call == batch.call {
            // What a session has left behind may be more than a buffer takes.
            guard buffer.append(held, limits: limits) != nil else { return false }
        }
        guard let new = buffer.append(batch, limits: limits) else { return false }
        if !new.isEmpty || batch.isFinal {
            heldMedia.append(
                .candidates(CallCandidates(call: batch.call, candidates: new, isFinal: batch.isFinal)))
        }
        return true
    }

    // MARK: Legs

    /// A leg of this device has come into memory.
    func add(_ leg: Leg) {
        legCount += 1
        if leg.state != .ended { liveLegs.append(leg) }
    }

    /// To be called when a leg has ended, or when one that has is given its push.
    func legEnded(_ leg: Leg) {
        Self.take(leg, outOf: &liveLegs)
        // What comes from the archive was over, and known to be, long ago.
        if leg.push?.record.report != nil, !leg.call.isFromArchive { endsToTell.append(leg) }
    }

    /// The device has reported the push of a leg that has ended, and is answered how the call stands.
    func pushReported(for leg: Leg) {
        if leg.state == .ended { Self.take(leg, outOf: &endsToTell) }
    }

    func legReopened(_ leg: Leg) {
        Self.take(leg, outOf: &endsToTell)
        liveLegs.append(leg)
    }

    /// The session has handled its events up to `seq`, and before them what it was told as it was opened. Of a push that
    /// may still come the end is told again all the same: the app that it starts may be another process.
    func acknowledged(_ seq: UInt64, in session: Session) {
        guard !endsToTell.isEmpty else { return }
        endsToTell.removeAll { leg in
            guard let told = leg.told, told.session == session.id, told.seq <= seq else { return false }
            return leg.push?.mayStillCome != true
        }
    }

    /// Whether the end of the leg is in ``endsToTell``.
    func isOwedEnd(of leg: Leg) -> Bool { leg.push != nil && endsToTell.contains { $0 === leg } }

    /// The call of the leg leaves memory.
    func remove(_ leg: Leg) {
        legCount -= 1
        Self.take(leg, outOf: &liveLegs)
        Self.take(leg, outOf: &endsToTell)
    }

    /// Of many ended ones the first to come are the first to go, so that it is found soon.
    private static func take(_ leg: Leg, outOf legs: inout [Leg]) {
        if let index = legs.firstIndex(where: { $0 === leg }) { legs.remove(at: index) }
    }

    /// Its session, if that may have a part in the call: one opened with a wake token knows of its own call only.
    func session(for call: Call) -> Session? {
        guard let session, session.mayAct(on: call.id) else { return nil }
        return session
    }
}
