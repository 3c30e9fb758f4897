import CallVocabulary
import Determinism

/// The call machine: all users, devices, sessions, calls and pushes, in one total order.
///
/// Pure: no I/O, no clock, no randomness of its own. ``handle(_:now:effects:)`` takes what has happened and says what is to
/// be done; ``handleTimeouts(now:effects:)`` does the same when ``nextDeadline()`` has come. The same inputs, times
/// and random numbers give the same effects. Confined to one thread, the core's.
public final class CallCore {
    public private(set) var timers: CallTimers
    public private(set) var limits: CoreLimits
    public internal(set) var counters = CoreCounters()
    /// The pushes of the calls in memory, live ones and those that have ended a short time ago, and open notices.
    public internal(set) var ledger = LedgerCounts()

    /// Until when the server means to be gone, while it drains: new calls are refused.
    public internal(set) var drainsUntil: Instant?
    public var isDraining: Bool { drainsUntil != nil }
    /// Who is still to be told of that, in the order they are told.
    var undrained: [ConnectionID] = []

    var directory: Directory
    var calls: [CallID: Call] = [:]
    var pushes: [PushID: Push] = [:]
    var pairBounds = PairBounds()
    /// Not settled yet.
    var notices: [PushID: Notice] = [:]
    var deadlines = DeadlineQueue<Deadline>()
    /// Ended calls; the few that keep no order among these are with the deadlines.
    var tombstones = Tombstones()
    var liveCallCount = 0
    /// Devices' parts in the calls in memory.
    var legCount = 0
    /// Sessions with a socket or in their resume window.
    var heldSessions = 0
    var knownCalls = KnownCalls()
    /// What waits for the store to look a call up, in the order it came.
    var lookUps: [CallID: [Deferred]] = [:]
    var lookUpCount = 0
    /// Pages of history that are being read.
    var historyReads = 0
    /// Connections whose `session.open` waits for that.
    var openingAfterLookUp: Set<ConnectionID> = []
    /// The store has just said that it does not have this call.
    var absentCall: CallID?
    /// Devices' parts in calls that are back from the store; a call without any counts as one.
    var archivedLegs = 0
    private var random: any RandomNumberGenerator
    /// Valid during a step.
    var now = Instant(milliseconds: 0)
    var effects = EffectBuffer()

    /// - Parameter policy: what holds for users without a policy of their own.
    public init(
        timers: CallTimers = CallTimers(), limits: CoreLimits = CoreLimits(), policy: UserPolicy = UserPolicy(),
        random: any RandomNumberGenerator
    ) {
        precondition(limits.backgroundPushes > 0, "background pushes are turned off by the policy, not by the limit")
        self.timers = timers
        self.limits = limits
        directory = Directory(policy: policy)
        self.random = random
    }

    /// What is wrong with the ledger, in words: its own laws, and its sum against the pushes there are.
    public var ledgerViolations: [String] {
        let held = pushes.count + notices.count
        guard ledger.intended == held else {
            return ledger.violations + ["the ledger holds \(ledger.intended) pushes, of \(held) in memory"]
        }
        return ledger.violations
    }

    /// How many calls are not over.
    public var liveCalls: Int { liveCallCount }
    /// How many sessions have a socket.
    public var onlineSessions: Int { directory.sessionCount }

    /// Takes one fact and appends what follows from it to `effects`.
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
        case .store(.callFound(let id, let stored)): takeUpSearch(id, stored)
        case .store(.callSearchFailed(let id)): giveUpSearch(id)
        case .store(.historyRead(let connection, let request, let page)): takeUpHistory(page, connection, request)
        case .store(.callsListed(let filter)): knownCalls.merge(filter)
        case .administered(let request, let command): effects.append(.answer(request, administer(command)))
        case .drainingBegan(let time): beginDraining(within: time)
        case .reconfigured(let settings): apply(settings)
        }
    }

    func take(_ input: ClientInput) {
        switch input {
        case .opened(let connection, let request, let open, let grant): openSession(connection, request, open, grant)
        case .requested(let connection, let request, let command): perform(command, on: connection, request)
        case .notified(let connection, let request, let notification): take(notification, on: connection, request)
        case .asked(let connection, let request, let question, let grant, let device):
            answer(question, grant, device, connection, request)
        }
    }

    private func apply(_ settings: CoreSettings) {
        if let timers = settings.timers { self.timers = timers }
        if let limits = settings.limits {
            precondition(limits.problem == nil, "limits are checked before the core is told of them")
            self.limits = limits
        }
        if let policy = settings.policy { directory.setPolicy(policy) }
    }

    /// When ``handleTimeouts(now:effects:)`` is due next.
    public func nextDeadline() -> Instant? {
        guard let forgets = tombstones.next else { return deadlines.next }
        return deadlines.next.map { min($0, forgets) } ?? forgets
    }

    /// Lets everything fall due whose time has come.
    public func handleTimeouts(now: Instant, effects: inout EffectBuffer) {
        step(now, &effects) {
            while fallDueNext() {}
        }
    }

    /// - Returns: false when nothing is due any more.
    private func fallDueNext() -> Bool {
        if let forgets = tombstones.next, deadlines.next.map({ forgets <= $0 }) ?? true,
            let call = tombstones.popDue(now: now)
        {
            forget(call)
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
        leaveToStore()
        swap(&effects, &buffer)
    }

    private func fallDue(_ deadline: Deadline) {
        switch deadline {
        case .ring(let call):
            call.deadline = nil
            endCall(call, .ringTimeout, by: nil)
        case .hunt(let call):
            call.huntDeadline = nil
            // After a pause both may be due; then it is too late to ring anybody.
            if now < call.ringsUntil { huntOn(call) }
        case .connect(let call):
            call.deadline = nil
            endCall(call, .connectTimeout, by: nil)
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
        case .drainingNotice:
            tellOfDraining()
        case .absence(let device):
            device.absence = nil
            returnOverdue(device)
        }
    }

    // MARK: What the parts share

    func makeSessionID() -> SessionID { SessionID(random: &random) }

    /// Pushes are looked up by it, in an index that may have millions: those of one time are to stand together.
    func makePushID() -> PushID { PushID(at: now, random: &random) }

    /// 128 random bits in hexadecimal.
    func makeToken() -> String {
        let value = Identifier<SessionSubject>(high: random.next(), low: random.next())
        return String(value.description.filter { $0 != "-" })
    }

    func persist(_ record: StoreRecord) { effects.persist(record) }

    /// Of a call that changes several times before anything is committed only the last record is kept. But whoever follows
    /// the records sees that it was waking, of which no time is kept, and how it stood before it ended.
    func persist(_ call: Call) {
        guard call.state != .ended else {
            call.recordPlace = nil
            return persist(.call(call.record))
        }
        effects.persist(.call(call.record), of: ObjectIdentifier(call), at: &call.recordPlace)
        if call.state == .waking { call.recordPlace = nil }
    }

    /// As with calls.
    func persist(_ leg: Leg) {
        guard leg.state != .ended else {
            leg.recordPlace = nil
            return persist(.leg(leg.record))
        }
        effects.persist(.leg(leg.record), of: ObjectIdentifier(leg), at: &leg.recordPlace)
        if leg.state == .waking { leg.recordPlace = nil }
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

    /// Numbers an event for the session and sends it if there is a socket; otherwise it waits for the resume.
    @discardableResult
    func deliver(_ event: ServerEvent, to session: Session) -> UInt64 {
        let (seq, overflowed) = session.record(event, limits: limits, isLive: isLive)
        if overflowed {
            counters.replayOverflows += 1
            counters.hit(.replay)
        }
        if let connection = session.connection { effects.append(.send(connection, .event(seq: seq, event))) }
        return seq
    }

    func isLive(_ call: CallID) -> Bool { calls[call]?.isLive == true }

    func cancel(_ token: inout DeadlineQueue<Deadline>.Token?) {
        if let token { deadlines.cancel(token) }
        token = nil
    }
}

@available(*, unavailable)
extension CallCore: Sendable {}

/// What can fall due.
enum Deadline {
    case ring(Call)
    /// The next member of a hunt has its turn.
    case hunt(Call)
    case connect(Call)
    /// An ended call leaves memory.
    case forget(Call)
    case delivery(Leg)
    case report(Push)
    /// The budget allows it, or it is of no use any more.
    case notice(Notice)
    case resume(Session)
    /// The next sessions are told that the server drains.
    case drainingNotice
    /// Until when a device may be away that has no session to resume: after a restart, or after a wake session.
    case absence(Device)
}
