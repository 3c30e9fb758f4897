import CallCore
import CallVocabulary
import PushVocabulary
import RecordModel

/// Checks each effect of the core, and the whole state after each step. Uses only the records, never the core's own
/// state.
final class Inspector {
    struct SessionLog {
        var key: DeviceKey
        var scope: SessionGrant.Scope
        var events: [UInt64: ServerEvent] = [:]
        var offered: Set<CallID> = []
        var ended: Set<CallID> = []
        /// The index of the last candidate sent for each call.
        var lastCandidate: [CallID: Int] = [:]
        /// The event number of each call's offer.
        var offeredAs: [CallID: UInt64] = [:]
        /// The highest acknowledged event number.
        var acknowledged: UInt64 = 0
        var isInBackground = false

        /// Ignores numbers that were not sent.
        mutating func acknowledge(_ seq: UInt64) {
            if seq <= events.keys.max() ?? 0 { acknowledged = max(acknowledged, seq) }
        }
    }

    struct ConnectionLog {
        var session: SessionID
        /// The number of the next event.
        var next: UInt64
        var openedAtStep: Int
        var isResumed: Bool
    }

    /// All records in order of decision, durable or not.
    private(set) var decided = Disk()
    private(set) var violations: [String] = []
    var requests: [RequestID: ServerRequest] = [:]
    var coverage = Coverage()
    private(set) var step = 0
    private(set) var input: CoreInput?
    /// When a client last sent anything.
    private(set) var heardAt: Instant?
    /// When a device last showed, other than by a report, that its app runs.
    var lastLife: [DeviceKey: Instant] = [:]
    var invites: [CallID: Invite] = [:]

    var memory = MemoryBook()
    /// The pushes that the push client has.
    private(set) var queued: Set<PushID> = []
    /// The pushes that this process passed to the push client.
    private var everQueued: Set<PushID> = []
    /// Calls that the backend was asked about.
    var askedAbout: Set<CallID> = []
    /// nil: no backend authorizes invites.
    var authorization: AuthorizationPolicy?
    /// The `session.open` requests without an answer, those answered in this step, and those that the backend was asked
    /// about.
    private var opening: [ConnectionID: (key: DeviceKey, grant: SessionGrant)] = [:]
    private var answeredSessions: [ConnectionID] = []
    private var askedSessions: Set<ConnectionID> = []
    /// The latest question about each call, and the calls that the backend has allowed since.
    private var latestQuestions: [CallID: UInt64] = [:]
    var allowedCalls: Set<CallID> = []
    private(set) var timers = CallTimers()
    /// The policy of users without their own.
    private(set) var userPolicy = UserPolicy()
    private var isDraining = false
    private(set) var books = LedgerCounts()
    /// Pushes about missed calls whose device has since opened a session.
    var mootNotices: Set<PushID> = []
    private(set) var sessions: [SessionID: SessionLog] = [:]
    private(set) var connections: [ConnectionID: ConnectionLog] = [:]
    private var endedAtStep: [CallID: Int] = [:]
    /// The index of each candidate in order of arrival.
    private var candidatesHeard: [RawJSON: Int] = [:]
    private(set) var hasChangedTokens = false
    /// The latest generation that the core wants in the store's tables. Before that nothing that was written leaves memory.
    private var unsettled: UInt64?
    var isSettling: Bool { unsettled != nil }
    var newCalls: [CallID] = []
    var changedCalls: Set<CallID> = []
    var newLegs: [LegRecord] = []
    var forwardedCalls: [CallID] = []
    /// Calls that rang further members of a group with delays from its start.
    var huntingCalls: [CallID] = []
    /// New calls whose invite has no reply yet.
    var unnamed: [CallID] = []
    private(set) var opened: [ConnectionID] = []
    private(set) var revoked: [Handle] = []
    /// The devices that asked about a call and learned that it is over.
    var shownEnds: Set<Disk.LegKey> = []
    private(set) var now = Instant(milliseconds: 0)

    func violate(_ text: String) { violations.append(text) }

    // MARK: Processes

    /// A new process starts from the durable records.
    func begin(on disk: Disk, now: Instant, odds: Odds) {
        decided = disk
        self.now = now
        timers = odds.timers
        userPolicy = odds.userPolicy
        isDraining = false
        queued = []
        everQueued = []
        memory.begin(on: disk, now: now, timers: timers)
        sessions = [:]
        connections = [:]
        opening = [:]
        unsettled = nil
        askedSessions = []
        latestQuestions = [:]
        allowedCalls = []
        // A session that was opened, and not recorded, is lost.
        mootNotices = mootNotices.filter { disk.pushes[$0]?.status != .intended }
        // Activity that was not durable is lost.
        lastLife = [:]
        // An end that was not durable is lost.
        endedAtStep = endedAtStep.filter { disk.calls[$0.key]?.state == .ended }
        books = LedgerCounts()
        for push in disk.pushes.values { books.add(status: push.status, report: push.report) }
        clearStep()
    }

    /// Notes an input before the core gets it.
    func hear(_ input: CoreInput, now: Instant) {
        self.input = input
        if case .client = input { heardAt = now }
        if let device = actor(of: input) { lastLife[device] = now }
        switch input {
        case .client(.opened(let connection, _, let open, let grant)):
            if connections[connection] == nil, opening[connection] == nil {
                opening[connection] = (DeviceKey(user: grant.user, device: open.device.id), grant)
            }
        case .client(.notified(_, _, .candidates(let batch))):
            for candidate in batch.candidates { candidatesHeard[candidate] = candidatesHeard.count }
        case .client(.notified(let connection, _, .ack(let seq))): change(connection) { $0.acknowledge(seq) }
        case .client(.requested(let connection, _, .session(.state(let state)))):
            change(connection) { $0.isInBackground = state == .background }
        case .connectionLost(let connection):
            opening[connection] = nil
            if let log = connections.removeValue(forKey: connection) { memory.detach(log.session, at: now) }
        case .store(.found(let number, let found)):
            memory.lookUpIsOver(number)
            if let call = found.call?.call, call.state == .ended { memory.keep(call.id, until: now + timers.archive) }
        case .store(.settled(let generation)): if generation == unsettled { unsettled = nil }
        case .store(.lookUpFailed): memory.lookUpFailed(at: now)
        case .authorized(let call, let number, let answer):
            // A late answer has no effect.
            if number == latestQuestions[call], case .allowed = answer { allowedCalls.insert(call) }
        case .push(.ended(let push, .unsent)): queued.remove(push)
        // The push client has queued it again. A drop that came while it was on the wire had no effect.
        case .push(.ended(let push, .returned)): queued.insert(push)
        case .drainingBegan: isDraining = true
        // Simulations never reconfigure: the inspector uses the initial timers.
        case .reconfigured: break
        case .client, .push, .store, .sessionAuthorized, .administered: break
        }
    }

    private func actor(of input: CoreInput) -> DeviceKey? {
        switch input {
        case .client(.requested(_, _, .call(.report))): nil
        case .client(.requested(let connection, _, _)), .client(.notified(let connection, _, _)):
            connections[connection].flatMap { sessions[$0.session]?.key }
        case .client, .connectionLost, .push, .store, .authorized, .sessionAuthorized, .administered, .drainingBegan,
            .reconfigured:
            nil
        }
    }

    /// Checks that only a request closes a report as acted, and that only the provider settles a push.
    private func checkCause(of push: PushRecord) {
        let old = decided.pushes[push.id]
        if push.report == .acted, old?.report != .acted {
            switch input {
            case .client, .store(.found): break
            case .connectionLost, .push, .store, .authorized, .sessionAuthorized, .administered, .drainingBegan,
                .reconfigured, nil:
                if !isOpening(push.device) { violate("a report was closed as acted without an action") }
            }
        }
        guard push.status == .accepted, push.answeredAt != nil, old?.answeredAt == nil else { return }
        guard case .push(.ended(push.id, .accepted)) = input else {
            return violate("a push has a result that the provider did not send")
        }
    }

    /// Whether a session of the device may open, after an answer of the store or the backend, or by the backend's
    /// timeout.
    private func isOpening(_ key: DeviceKey) -> Bool { opening.values.contains { $0.key == key } }

    /// A dropped device has a row again only when it opens a session.
    private func checkReturn(of key: DeviceKey) {
        guard decided.devices[key] == nil else { return }
        if isOpening(key) { coverage.count("device.registered") } else { violate("a dropped device has a row again") }
    }

    /// A session opens neither with a revoked token nor against the backend's answer.
    private func checkToken(on connection: ConnectionID) {
        if case .sessionAuthorized(connection, _, .refused) = input { violate("a refused session opened") }
        if askedSessions.contains(connection) { coverage.count("session.authorized") }
        guard let grant = opening[connection]?.grant, grant.scope == .full,
            let revocation = decided.revocations[grant.user]
        else { return }
        coverage.count("session.after_revocation")
        if grant.issuedAt.map({ $0 < revocation.issuedBefore }) ?? true { violate("a revoked token opened a session") }
    }

    private func change(_ connection: ConnectionID, _ body: (inout SessionLog) -> Void) {
        guard let log = connections[connection], var session = sessions[log.session] else { return }
        body(&session)
        sessions[log.session] = session
    }

    func clearStep() {
        step += 1
        for connection in answeredSessions {
            opening[connection] = nil
            askedSessions.remove(connection)
        }
        answeredSessions = []
        hasChangedTokens = false
        newCalls = []
        changedCalls = []
        forwardedCalls = []
        huntingCalls = []
        unnamed = []
        newLegs = []
        opened = []
        revoked = []
    }

    // MARK: Effects

    func take(_ effect: CoreEffect, now: Instant) {
        self.now = now
        switch effect {
        case .persist(let record): enter(record)
        case .send(let connection, let message):
            if opening[connection] != nil { answeredSessions.append(connection) }
            check(message, to: connection)
        case .disconnect(let connection, _):
            if let log = connections.removeValue(forKey: connection) { memory.close(log.session) }
        case .queuePush(let order), .queueNewPush(let order):
            if !everQueued.insert(order.id).inserted, case .queueNewPush = effect {
                violate("queued a push as new that was queued before")
            }
            queued.insert(order.id)
            check(order)
        case .confirmPush: break
        case .transmitPush(let id): checkTransmission(id)
        case .lookUp(let number, _): memory.lookUp(number, at: now)
        case .settle(let generation): unsettled = generation
        case .authorize(let question):
            askedAbout.insert(question.call)
            latestQuestions[question.call] = question.number
            allowedCalls.remove(question.call)
        case .authorizeSession(let connection, _):
            guard opening[connection]?.grant.scope == .full else {
                return violate("the backend was asked about a session without session.open")
            }
            askedSessions.insert(connection)
        case .readHistory: break
        case .dropPush(let push): queued.remove(push)
        case .observe: break
        case .answer(_, let answer):
            switch answer {
            case .success: coverage.count("admin.done")
            case .failure(let refusal): coverage.count("admin.\(refusal.code.rawValue)")
            }
        }
    }

    private func enter(_ record: StoreRecord) {
        if let violation = RecordLaws.violation(of: record, in: decided) { violate(violation) }
        switch record {
        case .call(let call): enter(call)
        case .leg(let leg):
            if let ended = endedAtStep[leg.call], ended != step {
                violate("a leg of \(leg.call) changed after its end")
            }
            if decided.leg(leg.call, leg.device) == nil { newLegs.append(leg) }
            if leg.state == .ended, let reason = leg.endReason { coverage.count("leg.\(reason.rawValue)") }
            check(declined: leg)
        case .push(let push):
            if let old = decided.pushes[push.id] { books.remove(status: old.status, report: old.report) }
            books.add(status: push.status, report: push.report)
            coverage.count("push.\(push.status.rawValue)")
            if let report = push.report { coverage.count("report.\(report.rawValue)") }
            if let delivery = push.delivery, push.status == .sent { coverage.count("push.\(delivery.rawValue)") }
            checkCause(of: push)
            checkProbe(push)
            if push.purpose != .call { check(notice: push) }
            if !push.isOpen, push.purpose == .call, decided.calls[push.call]?.state == .ended {
                memory.keep(push.call, until: now + timers.report)
            }
        case .event(let event): coverage.count("event.\(event.kind.rawValue)")
        case .missed: coverage.count("missed")
        case .candidates: coverage.count("candidates.kept")
        case .device(let device):
            hasChangedTokens = hasChangedTokens || decided.devices[device.key]?.tokens != device.tokens
            check(health: device)
            checkReturn(of: device.key)
            if device.suspendedAt != nil { coverage.count("device.suspended") }
        case .deviceDropped(let key):
            coverage.count("device.dropped")
            memory.drop(key)
        case .revocation(let record):
            coverage.count("user.revoked")
            revoked.append(record.handle)
            memory.drop(sessionsOf: record.handle)
        case .descriptions, .descriptionsDropped, .absence, .missedCleared, .candidatesDropped, .group,
            .groupDeleted, .user, .rules, .alias, .aliasDeleted:
            break
        }
        decided.apply(record)
    }

    private func enter(_ call: CallRecord) {
        if decided.calls[call.id] == nil {
            if isDraining { violate("a draining server took a new call") }
            newCalls.append(call.id)
            unnamed.append(call.id)
        }
        changedCalls.insert(call.id)
        // A record after the end only counts another event.
        if decided.calls[call.id]?.state == .ended { return }
        coverage.count("call.\(call.state.rawValue)")
        if call.hunt != nil { coverage.count("call.hunting") }
        if takesTurns(call) { huntingCalls.append(call.id) }
        if call.forwards.count > decided.calls[call.id]?.forwards.count ?? 0 { forwardedCalls.append(call.id) }
        guard call.state == .ended else { return }
        if call.endReason == nil || call.endedAt == nil { violate("\(call.id) ended without a reason") }
        if let reason = call.endReason {
            coverage.count("end.\(reason.rawValue)")
            checkNotForwarded(call, reason)
        }
        endedAtStep[call.id] = step
        memory.keep(call.id, until: now + timers.tombstone)
        guard call.endReason == .glare, let winner = call.mergedInto else { return }
        if winner >= call.id, !refuses(call) { violate("glare: the higher id \(winner) won over \(call.id)") }
        if decided.calls[winner] == nil { violate("glare: \(call.id) merged into an unknown call") }
    }

    private func check(declined leg: LegRecord) {
        guard leg.endReason == .declinedElsewhere, decided.users[leg.device.user]?.policy.decline == .device else {
            return
        }
        // The policy in force is the one at the decline, in this step.
        if decided.leg(leg.call, leg.device)?.state != .ended {
            violate("another device's decline ended this device's leg")
        }
    }

    // MARK: Sessions

    /// Whether the app is in the foreground, has said so, and has a socket that offered it the call.
    func hasSeen(_ call: CallID, _ device: DeviceKey) -> Bool {
        connections.values.contains { log in
            guard let session = sessions[log.session], session.key == device, !session.isInBackground,
                let seq = session.offeredAs[call]
            else { return false }
            return seq <= session.acknowledged
        }
    }

    // MARK: Messages

    private func check(_ message: ServerMessage, to connection: ConnectionID) {
        switch message {
        case .welcome: break
        case .reply(let id, let reply):
            guard let request = answered(id, on: connection) else { return }
            if case .opened(let session) = reply { open(session, request, connection) }
            check(reply, to: request)
        case .error(let id, let error):
            coverage.count("error.\(error.code.name)")
            guard let id, let request = answered(id, on: connection) else { return }
            check(error, to: request)
        case .event(let seq, let event): check(event, seq, connection)
        }
    }

    private func answered(_ id: RequestID, on connection: ConnectionID) -> ServerRequest? {
        guard let request = requests[id] else {
            violate("a reply to an unknown request")
            return nil
        }
        if request.isAnswered { violate("a request got two replies") }
        if request.connection != connection { violate("a reply went to another connection") }
        requests[id]?.isAnswered = true
        return request
    }

    private func open(_ session: SessionOpened, _ request: ServerRequest, _ connection: ConnectionID) {
        guard let key = request.key, case .open(let open) = request.body else {
            return violate("a session was opened without a request")
        }
        opened.append(connection)
        checkToken(on: connection)
        coverage.count(session.resumed ? "session.resumed" : "session.new")
        let known = sessions[session.session]
        if session.resumed {
            if known?.key != key || known?.scope != request.scope { violate("a session was resumed by another device") }
        } else {
            if known != nil { violate("a new session has the id of an old one") }
            sessions[session.session] = SessionLog(key: key, scope: request.scope)
        }
        memory.open(session.session, of: key)
        sessions[session.session]?.acknowledge(open.resume?.lastSeq ?? 0)
        let next = session.resumed ? (open.resume?.lastSeq ?? 0) + 1 : 1
        connections[connection] = ConnectionLog(
            session: session.session, next: next, openedAtStep: step, isResumed: session.resumed)
        checkNotices(to: key, openedWith: request.scope)
        for snapshot in session.calls { check(snapshot, for: request) }
        if case .call(let call) = request.scope, !session.calls.contains(where: { $0.call == call }) {
            violate("a woken device was not told its call's state")
        }
        if request.scope == .full, let device = decided.devices[key], device.suspendedAt != nil {
            violate("a device with a new session is still suspended")
        }
        if request.scope == .full, !session.resumed { checkEnds(toldWith: session.calls, to: key) }
    }

    private func check(_ event: ServerEvent, _ seq: UInt64, _ connection: ConnectionID) {
        guard let log = connections[connection], var session = sessions[log.session] else {
            return violate("an event on a connection without a session")
        }
        if seq != log.next { violate("event \(seq) where \(log.next) was due") }
        connections[connection]?.next = seq + 1
        if let before = session.events[seq] {
            coverage.count("event.replayed")
            return before == event ? () : violate("event \(seq) was replayed as another")
        }
        session.events[seq] = event
        defer { sessions[log.session] = session }
        guard let id = event.call else { return }
        if case .call(let only) = session.scope, only != id { violate("a wake session got an event of another call") }
        if session.ended.contains(id) { violate("an event of \(id) after its call.ended") }
        let isReplay = log.isResumed && log.openedAtStep == step
        if !isReplay, let ended = endedAtStep[id], ended != step { violate("an event of \(id) after its end") }
        check(event, seq, of: id, in: &session, isReplay: isReplay)
    }

    private func check(
        _ event: ServerEvent, _ seq: UInt64, of id: CallID, in session: inout SessionLog, isReplay: Bool
    ) {
        guard let call = decided.calls[id] else { return violate("an event of a call that is not recorded") }
        let leg = decided.leg(id, session.key)
        switch event {
        case .incoming(let offer):
            coverage.count("event.incoming")
            if !session.offered.insert(id).inserted { violate("a session was offered \(id) twice") }
            session.offeredAs[id] = seq
            if leg == nil || leg?.push != offer.push { violate("offered without a leg") }
            check(offer.candidates, of: id, in: &session)
            if !isReplay, !call.state.isRingingPhase { violate("offered a call that does not ring") }
        case .ended(let end):
            coverage.count("event.ended")
            session.ended.insert(id)
            if call.state != .ended, leg?.state != .ended { violate("call.ended before the recorded end") }
            if !isReplay, end.mergedInto != call.mergedInto, end.reason == .glare { violate("glare without a winner") }
        case .state(let change):
            coverage.count("event.state.\(change.state.rawValue)")
            if change.state.rank > call.state.rank { violate("a state was sent before it was recorded") }
            if !isReplay, change.state != call.state, !isOvertaken(change.state, of: call) {
                violate("told \(change.state) of a call that is \(call.state)")
            }
        case .candidates(let batch):
            coverage.count("event.candidates")
            check(batch.candidates, of: id, in: &session)
        case .update: coverage.count("event.update")
        case .peer: coverage.count("event.peer")
        case .draining: break
        }
    }

    /// Candidates arrive in order, and none twice.
    private func check(_ candidates: some Sequence<RawJSON>, of call: CallID, in session: inout SessionLog) {
        for candidate in candidates {
            guard let place = candidatesHeard[candidate] else { return violate("an unknown candidate") }
            if let last = session.lastCandidate[call], last >= place { violate("candidates of \(call) out of order") }
            session.lastCandidate[call] = place
        }
    }
}
