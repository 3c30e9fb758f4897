import CallVocabulary
import Determinism

/// The call machine: all users, devices, sessions, calls and pushes, in one total order.
///
/// Pure: no I/O, no clock, no randomness of its own. ``handle(_:now:effects:)`` takes an event and returns its effects.
/// ``handleTimeouts(now:effects:)`` does the same when ``nextDeadline()`` has passed. The same inputs, times and random
/// numbers give the same effects. Confined to the core's thread.
public final class CallCore {
    public private(set) var timers: CallTimers
    public private(set) var limits: CoreLimits
    public internal(set) var counters = CoreCounters()
    /// The callers whose calls ended so, for ``CoreCounters/callsOfOneCaller``.
    var callersOfFaults: [EndReason: BusiestUser] = [:]
    /// Counts the pushes of all calls in memory, live or recently ended, and open notices.
    public internal(set) var ledger = LedgerCounts()

    /// Whether steps are recorded as events for other systems.
    public internal(set) var recordsEvents: Bool
    /// When a draining server stops; nil when it does not drain. A draining server refuses new calls.
    public internal(set) var drainsUntil: Instant?
    public var isDraining: Bool { drainsUntil != nil }
    /// The last of the deadlines of devices whose age was over when it was set.
    var lastOverdue: Instant?
    /// Connections still to be told that the server drains, in that order.
    var undrained: [ConnectionID] = []

    var directory: Directory
    var calls: [CallID: Call] = [:]
    var pushes: [PushID: Push] = [:]
    var followers = Followers()
    /// Whether this step changed calls that requests wait for.
    var hasChangedFollowedCalls = false
    /// Notices without an outcome, and how many are about calls of each user.
    var notices: [PushID: Notice] = [:]
    var noticeShares = UserShares()
    var deadlines = DeadlineQueue<Deadline>()
    /// Ended calls, in order of their time to leave memory. Calls out of that order are in ``deadlines`` instead.
    var tombstones = Tombstones()
    var liveCallCount = 0
    /// A call was added to ``tombstones``, or their limit changed.
    var mayExceedEndedCalls = false
    /// The number of legs in memory.
    var legCount = 0
    /// The number of sessions with a socket or in their resume window.
    var heldSessions = 0
    var knownCalls = KnownCalls()
    /// The number of unregistered handles in call targets, over all live calls, and of the calls of each caller.
    var awaitedHandles = 0
    var awaitedShares = UserShares()
    /// Inputs that wait for the store to look something up.
    var lanes: [Lane: OpenLookUp] = [:]
    var laneOfLookUp: [UInt64: Lane] = [:]
    /// Where the `session.open` of a device waits.
    var openingDevices: [DeviceKey: Lane] = [:]
    var lookUpCount = 0
    /// Those of each user.
    var lookUpShares = UserShares()
    var lookUpsAsked: UInt64 = 0
    /// The present generation of records, the latest one that the store's tables are known to contain, and the latest
    /// one of what has left memory.
    var generation: UInt64 = 1
    var settledGeneration: UInt64 = 0
    var latestDeparture: UInt64 = 0
    /// When the store was asked to settle; nil while it is not.
    var settlingSince: Instant?
    /// Calls that leave memory once the store's tables contain them.
    var leavingCalls: [Call] = []
    /// The number of history pages being read, those of each user, and whose they are.
    var historyReads = 0
    var historyShares = UserShares()
    var historyReaders: [ConnectionID: (user: Handle, reads: Int)] = [:]
    /// Set while inputs are handled whose call the store does not have, so that they are not looked up again.
    var absentCall: CallID?
    /// Set while inputs are handled that waited for the holders of these tokens: those in memory are all there are.
    var soughtTokens: [PushToken.Address] = []
    /// Set while an input is handled that waited for this.
    var answered: Wanted?
    /// The connection that a `session.open` was refused on, and that closes.
    var turnedAway: ConnectionID?
    /// When this process began: sockets of before are gone.
    var beganAt = Instant(milliseconds: 0)
    /// nil: invites are not authorized.
    var authorization: AuthorizationPolicy?
    /// Invites that wait for a backend's answer, by call.
    var openQuestions: [CallID: OpenQuestion] = [:]
    /// `session.open` requests that wait for a backend's answer, by connection.
    var openSessionQuestions: [ConnectionID: OpenSessionQuestion] = [:]
    /// The inputs that wait in ``openQuestions``, by caller, and ``openSessionQuestions``, by user.
    var answerRoom = AnswerRoom()
    var sessionAnswerRoom = AnswerRoom()
    /// The connection on which each device in ``openSessionQuestions`` waits.
    var connectionsAsked: [DeviceKey: ConnectionID] = [:]
    var questionsAsked: UInt64 = 0
    /// Set while the inputs are handled that waited for this answer.
    var verdict: AuthorizationAnswer?
    /// The number of legs of calls restored from the archive; a call without legs counts as one. Also those that each
    /// user has asked for.
    var archivedLegs = 0
    var archivedShares = UserShares()
    private var random: any RandomNumberGenerator
    /// Valid during a step only.
    var now = Instant(milliseconds: 0)
    var effects = EffectBuffer()

    /// - Parameters:
    ///   - policy: the policy of users that have none of their own.
    ///   - recordsEvents: whether steps are recorded as events for other systems.
    public init(
        timers: CallTimers = CallTimers(), limits: CoreLimits = CoreLimits(), policy: UserPolicy = UserPolicy(),
        recordsEvents: Bool = false, authorization: AuthorizationPolicy? = nil, random: any RandomNumberGenerator
    ) {
        precondition(limits.backgroundPushes > 0, "background pushes are turned off by the policy, not by the limit")
        self.timers = timers
        self.limits = limits
        self.recordsEvents = recordsEvents
        self.authorization = authorization
        directory = Directory(policy: policy)
        self.random = random
    }

    /// Violated invariants of the ledger, as text: its conservation laws, and its total against the pushes in memory.
    public var ledgerViolations: [String] {
        let held = pushes.count + notices.count
        guard ledger.intended == held else {
            return ledger.violations + ["the ledger holds \(ledger.intended) pushes, of \(held) in memory"]
        }
        return ledger.violations
    }

    /// The number of calls that have not ended.
    public var liveCalls: Int { liveCallCount }
    /// The number of sessions with a socket.
    public var onlineSessions: Int { directory.sessionCount }

    /// Handles one input and appends its effects to `effects`.
    public func handle(_ input: CoreInput, now: Instant, effects: inout EffectBuffer) {
        step(now, &effects) { take(input) }
    }

    private func take(_ input: CoreInput) {
        switch input {
        case .client(let input): take(input)
        case .connectionLost(let connection): loseConnection(connection)
        case .push(.ready(let id)): decidePush(id)
        case .push(.committed(let id)): releasePush(id)
        case .push(.ended(let id, let outcome)): settlePush(id, outcome)
        case .store(.found(let number, let found)): takeUp(found, of: number)
        case .store(.lookUpFailed(let number)): fail(lookUp: number)
        case .store(.settled(let generation)): settled(generation)
        case .store(.unseen(let users)): readUnseen(users)
        case .store(.historyRead(let connection, let request, let page)): takeUpHistory(page, connection, request)
        case .store(.callsListed(let filter)): knownCalls.merge(filter)
        case .authorized(let call, let number, let answer): takeAnswer(answer, to: number, about: call)
        case .sessionAuthorized(let connection, let number, let answer):
            takeAnswer(answer, to: number, aboutSessionOn: connection)
        case .administered(let request, let command):
            if lanes[.administration] == nil {
                administer(request, command)
            } else {
                _ = wait(.administered(request, command), in: .administration)
            }
        case .drainingBegan(let time): beginDraining(within: time)
        case .reconfigured(let settings): apply(settings)
        }
    }

    func take(_ input: ClientInput) {
        if !waits(input) { perform(input) }
    }

    func perform(_ input: ClientInput) {
        switch input {
        case .opened(let connection, let request, let open, let grant): openSession(connection, request, open, grant)
        case .requested(let connection, let request, let command): perform(command, on: connection, request)
        case .notified(let connection, let request, let notification): take(notification, on: connection, request)
        case .asked(let connection, let request, let command, let grant, let device):
            perform(command, grant, device, connection, request)
        case .tokenShown(let connection, let request, let grant, let device):
            checkToken(grant, device, connection, request)
        case .backend(let connection, let request, let command, let scope):
            perform(command, scope, connection, request)
        }
    }

    private func apply(_ settings: CoreSettings) {
        if let timers = settings.timers {
            let age = self.timers.deviceAge
            self.timers = timers
            if timers.deviceAge != age { awaitAges() }
        }
        if let limits = settings.limits {
            precondition(limits.problem == nil, "limits are checked before the core is told of them")
            self.limits = limits
            mayExceedEndedCalls = true
        }
        if let policy = settings.policy { directory.setPolicy(policy) }
        if let recordsEvents = settings.recordsEvents { self.recordsEvents = recordsEvents }
        if let authorization = settings.authorization { self.authorization = authorization }
    }

    /// When ``handleTimeouts(now:effects:)`` is due next; nil when nothing is.
    public func nextDeadline() -> Instant? {
        guard let forgets = tombstones.next else { return deadlines.next }
        return deadlines.next.map { min($0, forgets) } ?? forgets
    }

    /// Fires every deadline up to `now`.
    public func handleTimeouts(now: Instant, effects: inout EffectBuffer) {
        step(now, &effects) {
            while fallDueNext() {}
        }
    }

    /// Fires the earliest deadline that is due.
    /// - Returns: false when none is due.
    private func fallDueNext() -> Bool {
        if let forgets = tombstones.next, deadlines.next.map({ forgets <= $0 }) ?? true,
            let id = tombstones.popDue(now: now)
        {
            if let call = takeTombstone(of: id)?.call { forget(call) }
            return true
        }
        guard let due = deadlines.popDue(now: now) else { return false }
        fallDue(due)
        return true
    }

    private func step(_ now: Instant, _ buffer: inout EffectBuffer, _ body: () -> Void) {
        self.now = now
        swap(&effects, &buffer)
        body()
        if hasChangedFollowedCalls { answerFollowers() }
        if mayExceedEndedCalls { leaveToStore() }
        if directory.idle.count > limits.idleUsers { letIdleUsersGo() }
        swap(&effects, &buffer)
    }

    private func fallDue(_ deadline: Deadline) {
        switch deadline {
        case .ring(let call):
            call.deadline = nil
            endUnanswered(call, .ringTimeout, by: nil)
        case .hunt(let call):
            call.huntDeadline = nil
            // After a pause of the process both deadlines may be due: then the ring time is over, and no member is
            // rung.
            if now < call.ringsUntil { huntOn(call) }
        case .candidates(let call):
            call.candidatesDeadline = nil
            passOnCandidates(of: call)
        case .connect(let call):
            call.deadline = nil
            endCall(call, .connectTimeout, by: nil)
        case .duration(let call):
            call.deadline = nil
            endCall(call, .maxDuration, by: nil)
        case .forget(let call):
            call.deadline = nil
            forget(call)
        case .delivery(let leg):
            endDelivery(of: leg)
            deliveryOverdue(leg)
        case .report(let push):
            push.reportDeadline = nil
            reportOverdue(push)
        case .notice(let notice):
            notice.deadline = nil
            noticeDue(notice)
        case .resume(let session):
            session.resumeDeadline = nil
            dropSession(session)
        case .lookUp(let lane): lookUpOverdue(lane)
        case .authorization(let call): answerOverdue(call)
        case .sessionAuthorization(let connection): answerOverdue(onSession: connection)
        case .drainingNotice:
            tellOfDraining()
        case .absence(let device):
            device.absence = nil
            returnOverdue(device)
        case .age(let device):
            device.ageDeadline = nil
            ageDue(device)
        }
    }

    // MARK: Shared by the extensions

    func makeSessionID() -> SessionID { SessionID(random: &random) }

    /// A push id that begins with the time: the store's index may hold millions, and ids of one time lie together in
    /// it.
    func makePushID() -> PushID { PushID(at: now, random: &random) }

    func makeEventID() -> EventID { EventID(at: now, random: &random) }

    /// 128 random bits in hexadecimal.
    func makeToken() -> String {
        let value = Identifier<SessionSubject>(high: random.next(), low: random.next())
        return String(value.description.filter { $0 != "-" })
    }

    func persist(_ record: StoreRecord) { effects.persist(record) }

    /// Persists the call; a record not yet handed over is replaced by a later one. The `waking` record and the last one
    /// before the end are kept, because the call's timeline has no other trace of them.
    func persist(_ call: Call) {
        call.generation = generation
        if followers.count > 0 { noteFollowed(call) }
        guard call.state != .ended else {
            call.recordPlace = nil
            return persist(.call(call.record))
        }
        let place = effects.persist(.call(call.record), of: ObjectIdentifier(call), at: call.recordPlace)
        call.recordPlace = call.state == .waking ? nil : place
    }

    /// Persists the leg, by the same rule as calls.
    func persist(_ leg: Leg) {
        leg.call.generation = generation
        guard leg.state != .ended else {
            leg.recordPlace = nil
            return persist(.leg(leg.record))
        }
        let place = effects.persist(.leg(leg.record), of: ObjectIdentifier(leg), at: leg.recordPlace)
        leg.recordPlace = leg.state == .waking ? nil : place
    }

    func reply(_ connection: ConnectionID, _ request: RequestID, _ reply: Reply) {
        effects.append(.send(connection, .reply(request, reply)))
    }

    func refuse(_ connection: ConnectionID, _ request: RequestID, _ code: SignalError.Code, _ message: String) {
        refuse(connection, request, SignalError(code, message))
    }

    /// - Parameter request: nil for a notification.
    func refuse(_ connection: ConnectionID, _ request: RequestID?, _ error: SignalError) {
        effects.append(.send(connection, .error(request, error)))
    }

    /// Numbers an event for the session, keeps it for a resume, and sends it if there is a socket.
    @discardableResult
    func deliver(_ event: ServerEvent, to session: Session) -> UInt64 {
        let (seq, overflowed) = session.record(event, limits: limits) { isParty(session.device, ofAnswered: $0) }
        if overflowed {
            counters.replayOverflows += 1
            counters.hit(.replay)
        }
        if let connection = session.connection { effects.append(.send(connection, .event(seq: seq, event))) }
        return seq
    }

    /// Whether the device is a party of the call, which is answered and has not ended.
    func isParty(_ device: Device, ofAnswered id: CallID) -> Bool {
        guard let call = calls[id], call.isLive, call.answer != nil else { return false }
        return call.isParty(device)
    }

    /// Sets a deadline in the place of the one before.
    func schedule(_ deadline: Deadline, at time: Instant, in token: inout DeadlineQueue<Deadline>.Token?) {
        cancel(token)
        token = deadlines.add(deadline, at: time)
    }

    func cancel(_ token: DeadlineQueue<Deadline>.Token?) {
        if let token { deadlines.cancel(token) }
    }
}

@available(*, unavailable)
extension CallCore: Sendable {}

/// The core's deadlines.
enum Deadline {
    case ring(Call)
    /// The next member of a hunt is rung.
    case hunt(Call)
    /// The caller's share allows that further candidates are passed on while the call rings.
    case candidates(Call)
    case connect(Call)
    /// The call has lasted as long as it may.
    case duration(Call)
    /// An ended call leaves memory.
    case forget(Call)
    case delivery(Leg)
    case report(Push)
    /// The background push budget allows the notice, or the notice expires.
    case notice(Notice)
    case resume(Session)
    /// The store has not answered.
    case lookUp(Lane)
    /// The backend has not answered about the call.
    case authorization(CallID)
    /// The backend has not answered about the session on the connection.
    case sessionAuthorization(ConnectionID)
    /// The next batch of sessions is told that the server drains.
    case drainingNotice
    /// A device that has no session to resume is given up: after a restart, or after a wake session.
    case absence(Device)
    /// A device was not seen for long, or is asked whether it is online.
    case age(Device)
}
