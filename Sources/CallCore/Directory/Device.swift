import CallVocabulary
import Determinism

/// One installation of an app under one user.
final class Device {
    let key: DeviceKey
    /// In memory as long as a session, a notice, a leg or a call of the device is, which hold it; see ``IdleUsers``.
    unowned let user: User
    /// Stands for the backend that placed a call: it is in no user's list, and never has a session or tokens.
    let isBackend: Bool
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
    /// The device has logged out and opened no session of its own since: no wake token opens one for it.
    var hasLoggedOut = false
    /// The device has no row in the store, and is none of its user's devices. Calls in memory may still have it.
    var isDropped = false
    /// By when the device must open a session, for calls that it has no session for.
    var absence: DeadlineQueue<Deadline>.Token?
    /// When it is dropped unless it has been seen, or is asked whether it is online.
    var ageDeadline: DeadlineQueue<Deadline>.Token?
    /// How many calls in memory it placed.
    var placedCalls = 0
    /// How many legs in memory it has.
    private(set) var legCount = 0
    /// Its legs that have not ended.
    private(set) var liveLegs: [Leg] = []
    /// Its legs that ended after their push was sent. Each new session gets their end, until the device reports the
    /// push, or acknowledges an end whose push can no longer arrive.
    private(set) var endsToTell: [Leg] = []
    /// Its legs that wait for a sign of life.
    var undelivered: [Leg] = []
    /// Candidates and updates from the other sides of its calls, held for its next session, oldest first.
    var heldMedia: [ServerEvent] = []
    /// Open pushes about missed calls, oldest first.
    var notices: [Notice] = []
    var backgroundBudget: BackgroundBudget {
        get { user.backgroundBudgets[key.device] ?? BackgroundBudget() }
        set { user.backgroundBudgets[key.device] = newValue }
    }
    /// Bounds the pushes for calls; `noticeBound` bounds the alerts about missed calls.
    var pushBound = RateBound()
    var noticeBound = RateBound()

    init(key: DeviceKey, user: User, platform: Platform, seenAt: Instant, isBackend: Bool = false) {
        self.key = key
        self.user = user
        self.isBackend = isBackend
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

    /// A backend has no device id.
    var party: Party { Party(user: key.user, device: isBackend ? nil : key.device) }

    /// The registration of the token, whatever profile it was registered with since.
    func registration(of token: PushToken) -> DeviceRecord.Token? {
        tokens.first { $0.token.isSameRegistration(as: token) }
    }

    /// Records that the token was valid at `time`. The token keeps its place in `tokens`.
    func confirm(_ token: PushToken, at time: Instant) {
        guard let index = tokens.firstIndex(where: { $0.token.isSameRegistration(as: token) }) else { return }
        tokens[index].registeredAt = max(tokens[index].registeredAt, time)
    }

    /// Holds candidates for the next session that may act on their call.
    /// - Returns: false when there is no room.
    func hold(_ batch: CallCandidates, _ limits: CoreLimits) -> Bool {
        guard let new = CandidateBuffer.new(in: batch, behind: heldMedia, limits: limits) else { return false }
        // That all candidates were sent is said once: a backend never opens the session that would take them.
        if !new.isEmpty || batch.isFinal && !holdsAll(of: batch.call) {
            heldMedia.append(
                .candidates(CallCandidates(call: batch.call, candidates: new, isFinal: batch.isFinal)))
        }
        return true
    }

    private func holdsAll(of call: CallID) -> Bool {
        heldMedia.contains { event in
            if case .candidates(let batch) = event { batch.call == call && batch.isFinal } else { false }
        }
    }

    // MARK: Legs

    /// Whether calls in memory hold the device as their caller or with a leg.
    var isInMemoryOfCalls: Bool { legCount > 0 || placedCalls > 0 }

    /// Adds a leg that has come into memory.
    func add(_ leg: Leg) {
        legCount += 1
        if leg.state != .ended { liveLegs.append(leg) }
    }

    /// Call it when a leg has ended, or when an ended leg is given its push.
    func legEnded(_ leg: Leg) {
        liveLegs.remove(leg)
        // The end of a call from the archive was told long ago.
        if leg.push?.record.report != nil, !leg.call.isFromArchive { endsToTell.append(leg) }
    }

    /// The device has reported the push of a leg; the reply tells it the state of the call.
    func pushReported(for leg: Leg) {
        if leg.state == .ended { endsToTell.remove(leg) }
    }

    func legReopened(_ leg: Leg) {
        endsToTell.remove(leg)
        liveLegs.append(leg)
    }

    /// The session has handled its events up to `seq`, and the reply that opened it. An end whose push may still arrive
    /// is told again nevertheless: the push may start another process of the app.
    func acknowledged(_ seq: UInt64, in session: Session) {
        guard !endsToTell.isEmpty else { return }
        endsToTell.removeAll { leg in
            guard let told = leg.told, told.session == session.id, told.seq <= seq else { return false }
            return leg.push?.mayStillCome != true
        }
    }

    /// Whether the end of the leg is in ``endsToTell``.
    func isOwedEnd(of leg: Leg) -> Bool { leg.push != nil && endsToTell.contains { $0 === leg } }

    /// Removes a leg whose call leaves memory.
    func remove(_ leg: Leg) {
        legCount -= 1
        liveLegs.remove(leg)
        endsToTell.remove(leg)
    }

    /// The device's session, if it may act on the call: a session of a wake token may act on its own call only.
    func session(for call: Call) -> Session? {
        guard let session, session.mayAct(on: call.id) else { return nil }
        return session
    }
}
