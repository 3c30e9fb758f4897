import ByteMutation
import CallVocabulary
import Determinism
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// The core with everything around it: phones, a store, a push client and a clock. It carries effects out in order and
/// checks what must always hold after every one of them.
final class World {
    let timers: CallTimers
    let limits: CoreLimits
    private(set) var core: CallCore
    private(set) var now = Instant(milliseconds: 1_800_000_000_000)
    private(set) var store = Disk()
    private(set) var provider = PushClient()
    /// The time that the core has had a processor for its inputs.
    private(set) var coreTime = Duration.zero
    /// How many records were written.
    private(set) var records = 0
    /// How many of them are of calls.
    private(set) var callRecords = 0
    /// What did not hold; the first is also recorded as an issue.
    private(set) var violations: [String] = []
    /// Said with a violation, so that it can be replayed.
    var context = ""

    private let seed: UInt64
    private var starts: UInt64 = 1
    private var sockets: [ConnectionID: Phone] = [:]
    private var invariants = Invariants()
    private var liveCalls: Set<CallID> = []
    private var queued: Set<PushID> = []
    /// What the core has asked the store for, and was not answered yet.
    private(set) var lookUps: [(number: UInt64, wanted: Wanted)] = []
    /// The generation that the core wants in the store's tables.
    private(set) var unsettled: UInt64?
    /// What the core has asked the backend, all that was ever asked.
    private(set) var questions: [AuthorizationQuestion] = []
    private(set) var sessionQuestions: [(connection: ConnectionID, question: SessionQuestion)] = []
    /// Whether the store answers questions about calls at once, and those about users only; else ``answerLookUps()``
    /// lets it.
    var answersSearches = true
    var answersUserLookUps = true
    /// Whether the next question is answered only by ``answerHeld(failing:with:)``.
    var holdsNextLookUp = false
    private(set) var held: (number: UInt64, wanted: Wanted)?
    /// Whether the store's tables contain at once what the core writes; else ``settle()`` has them.
    var settles = true
    /// Whether the next process is told which calls the store has.
    var listsCalls = true
    private var sessionless: Set<ConnectionID> = []
    private(set) var sessionlessAnswers: [ConnectionID: Result<Reply, SignalError>] = [:]
    private var adminAnswers: [AdminRequestID: Result<AdminReply, AdminRefusal>] = [:]
    /// The sessions there are, as the core tells of them.
    private(set) var roster = Roster()
    /// What the first process was told, and when; nil stands for the time that something was due.
    private(set) var history: [(at: Instant, input: CoreInput?)] = []
    private var serial: UInt64 = 0
    private var generator: SeededGenerator

    let policy: UserPolicy
    let authorization: AuthorizationPolicy?

    init(
        seed: UInt64 = 1, timers: CallTimers = CallTimers(), limits: CoreLimits = CoreLimits(),
        policy: UserPolicy = UserPolicy(), authorization: AuthorizationPolicy? = nil
    ) {
        self.policy = policy
        self.authorization = authorization
        self.seed = seed
        self.timers = timers
        self.limits = limits
        generator = SeededGenerator(seed: ~seed)
        core = CallCore(
            timers: timers, limits: limits, policy: policy, authorization: authorization,
            random: SeededGenerator(seed: seed))
        step(.store(.callsListed(store.callIDs)))
    }

    // MARK: Making things

    /// A phone of `user`; with `pushable` it has a VoIP token of its own.
    func phone(_ user: String, pushable: Bool = true) -> Phone {
        let id = DeviceID(random: &generator)
        return Phone(world: self, user: Handle(user)!, id: id, tokens: pushable ? [.voip("token-\(id)")] : [])
    }

    func phone(_ user: String, tokens: [PushToken]) -> Phone {
        Phone(world: self, user: Handle(user)!, id: DeviceID(random: &generator), tokens: tokens)
    }

    /// A phone with an open session.
    @discardableResult
    func online(_ user: String, pushable: Bool = true) -> Phone { opened(phone(user, pushable: pushable)) }
    @discardableResult
    func online(_ user: String, tokens: [PushToken]) -> Phone { opened(phone(user, tokens: tokens)) }

    /// A phone that has closed its session: only a push reaches it.
    @discardableResult
    func asleep(_ user: String, pushable: Bool = true) -> Phone { closed(online(user, pushable: pushable)) }
    func asleep(_ user: String, tokens: [PushToken]) -> Phone { closed(online(user, tokens: tokens)) }

    private func opened(_ phone: Phone) -> Phone {
        phone.open()
        return phone
    }

    private func closed(_ phone: Phone) -> Phone {
        phone.ask(.close)
        return phone
    }

    /// What most suites begin with: two users with a phone each, online.
    static func pair(limits: CoreLimits = CoreLimits(), bobIsAsleep: Bool = false) -> (World, Phone, Phone) {
        let world = World(limits: limits)
        let (alice, bob) = (world.online("alice"), world.online("bob"))
        return (world, alice, bobIsAsleep ? world.closed(bob) : bob)
    }

    /// ... and a third.
    static func trio(_ third: String) -> (World, Phone, Phone, Phone) {
        let (world, alice, bob) = pair()
        return (world, alice, bob, world.online(third))
    }

    func newCall() -> CallID { CallID(random: &generator) }
    func newPush() -> PushID { PushID(random: &generator) }

    func connect(_ phone: Phone) -> ConnectionID {
        serial += 1
        let connection = ConnectionID(shard: 0, serial: serial)
        sockets[connection] = phone
        return connection
    }

    func nextRequest() -> RequestID {
        serial += 1
        return .number(Int64(serial))
    }

    // MARK: Steps

    /// Whether the store stands still for pushes: none is on disk as sent before ``commitPushes()``.
    var holdsPushCommits = false
    private var uncommitted: [PushID] = []

    func step(_ input: CoreInput) {
        note(input)
        run { effects in
            coreTime += WorstInput.processorTime { core.handle(input, now: now, effects: &effects) }
        }
        if !holdsPushCommits { commitPushes() }
        answerDueLookUps()
    }

    /// The pushes that are being committed as sent are on disk.
    func commitPushes() {
        while !uncommitted.isEmpty { step(.push(.committed(uncommitted.removeFirst()))) }
    }

    /// Lets time pass, and everything fall due on its way.
    func advance(_ duration: Duration) {
        let end = now + duration
        while let due = core.nextDeadline(), due <= end {
            now = max(now, due)
            note(nil)
            run { core.handleTimeouts(now: now, effects: &$0) }
            answerDueLookUps()
            if !violations.isEmpty { return }
        }
        now = end
    }

    private func note(_ input: CoreInput?) {
        if starts == 1 { history.append((now, input)) }
    }

    /// The store cannot be read for a `call.list`.
    var failsHistory = false
    /// Whether pages for `call.list` are read by ``answerPages()`` only.
    var holdsPages = false
    private var heldPages: [CoreInput] = []

    func answerPages() {
        while !heldPages.isEmpty { step(heldPages.removeFirst()) }
    }

    /// Lets time pass without the core noticing: the loop was late.
    func stall(_ duration: Duration) { now = now + duration }

    /// Ends the process without a word and starts another on the same store.
    func restart(downFor down: Duration = .seconds(1)) {
        for phone in sockets.values { phone.connection = nil }
        sockets = [:]
        provider = PushClient()
        invariants = Invariants()
        roster = Roster()
        now = now + down
        core = CallCore(
            timers: timers, limits: limits, policy: policy, authorization: authorization,
            random: SeededGenerator(seed: seed &+ starts &* 0x5851_F42D)
        )
        starts += 1
        lookUps = []
        held = nil
        unsettled = nil
        uncommitted = []
        run { core.recover(store.recovered(), now: now, effects: &$0) }
        advance(.zero)
        if listsCalls { step(.store(.callsListed(store.callIDs))) }
    }

    // MARK: The store's side of look-ups

    /// The calls that the core has asked for.
    var searches: [CallID] { lookUps.compactMap(\.wanted.call) }

    /// Answers what the core has asked the store for.
    func answerLookUps(failing: Bool = false) {
        while !lookUps.isEmpty { answerFirst(failing: failing) }
    }

    private func answerFirst(failing: Bool = false) {
        let (number, wanted) = lookUps.removeFirst()
        step(failing ? .store(.lookUpFailed(number: number)) : .store(.found(number: number, store.found(wanted))))
    }

    /// The store is read for users with a device that was not seen for long.
    func readUnseen() {
        guard let age = core.timers.deviceAge else { return }
        step(.store(.unseen(store.unseen(since: now + (.zero - age)))))
    }

    /// Answers the question that was held back.
    /// - Parameter found: the answer; nil for what the store has.
    func answerHeld(failing: Bool = false, with found: Found? = nil) {
        guard let (number, wanted) = held else { return }
        held = nil
        step(
            failing
                ? .store(.lookUpFailed(number: number)) : .store(.found(number: number, found ?? store.found(wanted))))
    }

    /// The store's tables contain what the core has written.
    func settle() {
        guard let generation = unsettled else { return }
        unsettled = nil
        step(.store(.settled(generation)))
    }

    private func answerDueLookUps() {
        while let first = lookUps.first, first.wanted.call == nil ? answersUserLookUps : answersSearches {
            answerFirst()
        }
        if settles { settle() }
    }

    // MARK: Administration

    @discardableResult
    func administer(_ command: AdminCommand) -> Result<AdminReply, AdminRefusal> {
        serial += 1
        let request = AdminRequestID(serial: serial)
        step(.administered(request, command))
        guard let answer = adminAnswers.removeValue(forKey: request) else {
            violate("an administrator got no answer")
            return .failure(AdminRefusal(.notFound, ""))
        }
        return answer
    }

    /// A request by plain HTTP, without a session.
    func ask(
        _ question: CallRequest, as user: Handle, device: DeviceID?, scope: SessionGrant.Scope,
        issuedAt: Instant? = nil
    ) -> Result<Reply, SignalError>? {
        serial += 1
        let connection = ConnectionID(shard: 0, serial: serial)
        sessionless.insert(connection)
        let request = nextRequest()
        let grant = SessionGrant(user: user, scope: scope, issuedAt: issuedAt)
        step(.client(.asked(connection, request, question, grant, device)))
        return sessionlessAnswers.removeValue(forKey: connection)
    }

    /// A request by plain HTTP that needs a valid token only.
    func showToken(
        as user: Handle, device: DeviceID? = nil, scope: SessionGrant.Scope = .full, issuedAt: Instant? = nil
    ) -> Result<Reply, SignalError>? {
        serial += 1
        let connection = ConnectionID(shard: 0, serial: serial)
        sessionless.insert(connection)
        let grant = SessionGrant(user: user, scope: scope, issuedAt: issuedAt)
        step(.client(.tokenShown(connection, nextRequest(), grant, device)))
        return sessionlessAnswers.removeValue(forKey: connection)
    }

    /// A backend's request by plain HTTP. The answer, once there is one, is in ``sessionlessAnswers``.
    func post(_ request: BackendRequest, scope: BackendScope = BackendScope()) -> ConnectionID {
        serial += 1
        let connection = ConnectionID(shard: 0, serial: serial)
        sessionless.insert(connection)
        step(.client(.backend(connection, nextRequest(), request, scope)))
        return connection
    }

    /// A backend's request that is answered at once.
    func ask(_ request: BackendRequest, scope: BackendScope = BackendScope()) -> Result<Reply, SignalError>? {
        let connection = post(request, scope: scope)
        return sessionlessAnswers.removeValue(forKey: connection)
    }

    /// The socket breaks.
    func cut(_ connection: ConnectionID) {
        sockets[connection]?.connection = nil
        sockets[connection] = nil
        step(.connectionLost(connection))
    }

    // MARK: Pushes

    /// The push client has room: the core is asked, and its word is carried out.
    func makeReady(_ id: PushID) {
        provider.announce(id)
        step(.push(.ready(id)))
    }

    func settle(_ id: PushID, _ outcome: PushOutcome) {
        provider.end(id, outcome)
        step(.push(.ended(id, outcome)))
    }

    func announceOnly(_ id: PushID) { provider.announce(id) }

    /// The one push for the phone's leg of a call.
    func push(_ call: CallID, to phone: Phone) -> PushRecord? {
        store.pushes.values.first { $0.call == call && $0.device == phone.key && $0.purpose == .call }
    }

    /// The pushes that tell the phone of missed calls, oldest first.
    func notices(to phone: Phone) -> [PushRecord] {
        store.pushes.values.filter { $0.device == phone.key && $0.purpose != .call }
    }

    func leg(_ call: CallID, of phone: Phone) -> LegRecord? {
        store.legs[Disk.LegKey(call: call, device: phone.key)]
    }

    /// Brings the phone's push onto the wire.
    @discardableResult
    func transmit(_ call: CallID, to phone: Phone) throws -> PushID {
        let id = try #require(self.push(call, to: phone)?.id)
        makeReady(id)
        #expect(provider.phase(of: id) == .onWire)
        return id
    }

    /// ... and has it accepted.
    @discardableResult
    func deliver(_ call: CallID, to phone: Phone) throws -> PushID {
        let id = try transmit(call, to: phone)
        settle(id, .accepted)
        return id
    }

    // MARK: Carrying out

    private func run(_ body: (inout EffectBuffer) -> Void) {
        var buffer = EffectBuffer()
        body(&buffer)
        for effect in buffer.drain() { carryOut(effect) }
        for id in queued {
            guard let push = store.pushes[id], push.purpose == .call else { continue }
            let leg = store.legs[Disk.LegKey(call: push.call, device: push.device)]
            if leg?.state == .ended || leg?.state == .answered || leg?.state == .ringing && isAttended(push) {
                violate("a push stays queued for a leg that is \(String(describing: leg?.state))")
            }
        }
        var books = LedgerCounts()
        for push in store.pushes.values {
            if core.pushes[push.id] != nil || core.notices[push.id] != nil {
                books.add(status: push.status, report: push.report)
            } else if push.isOpen {
                violate("push \(push.id) is open and not in memory")
            }
        }
        if books != core.ledger { violate("the ledger's counts are not those of the records") }
        for violation in core.ledgerViolations { violate(violation) }
        if roster.sessions.count != core.census.sessions || roster.onlineCount != core.onlineSessions {
            violate("\(core.census.sessions) sessions, and told of \(roster.sessions.count)")
        }
        if liveCalls.count != core.liveCalls {
            violate("\(core.liveCalls) live calls counted, \(liveCalls.count) recorded")
        }
    }

    private func carryOut(_ effect: CoreEffect) {
        switch effect {
        case .persist(let record):
            if let violation = RecordLaws.violation(of: record, in: store) { violate(violation) }
            records += 1
            enter(record)
            store.apply(record)
        case .send(let connection, let message):
            if sessionless.remove(connection) != nil { return answer(connection, message) }
            guard let phone = sockets[connection] else { return violate("sent on a closed connection: \(message)") }
            check(message, to: phone)
            phone.receive(message)
        case .disconnect(let connection, let code):
            guard let phone = sockets.removeValue(forKey: connection) else {
                return violate("closed a closed connection")
            }
            phone.closes.append(code)
            if phone.connection == connection { phone.connection = nil }
        case .queuePush(let order), .queueNewPush(let order):
            if store.pushes[order.id]?.status != .intended { violate("queued a push that is not intended on disk") }
            provider.queue(order)
        case .confirmPush(let id): uncommitted.append(id)
        case .transmitPush(let id):
            checkTransmission(id)
            provider.transmit(id)
        case .dropPush(let id): provider.drop(id)
        case .lookUp(let number, let wanted):
            if holdsNextLookUp {
                holdsNextLookUp = false
                held = (number, wanted)
            } else {
                lookUps.append((number, wanted))
            }
        case .settle(let generation): unsettled = generation
        case .readHistory(let connection, let request, let query):
            let page = CoreInput.store(
                .historyRead(connection, request, failsHistory ? nil : store.history(query)))
            if holdsPages { heldPages.append(page) } else { step(page) }
        case .authorize(let question): questions.append(question)
        case .authorizeSession(let connection, let question): sessionQuestions.append((connection, question))
        case .observe(let change): roster.take(change) { violate($0) }
        case .answer(let request, let answer): adminAnswers[request] = answer
        }
    }

    private func answer(_ connection: ConnectionID, _ message: ServerMessage) {
        switch message {
        case .reply(_, let reply): sessionlessAnswers[connection] = .success(reply)
        case .error(_, let error): sessionlessAnswers[connection] = .failure(error)
        case .welcome, .event: violate("said to somebody without a session: \(message)")
        }
    }

    private func enter(_ record: StoreRecord) {
        switch record {
        case .push(let push):
            if push.status == .intended { queued.insert(push.id) } else { queued.remove(push.id) }
        case .call(let call):
            callRecords += 1
            if call.state.isLive { liveCalls.insert(call.id) } else { liveCalls.remove(call.id) }
        case .device, .deviceDropped, .leg, .descriptions, .descriptionsDropped, .absence, .missed, .missedCleared,
            .candidates, .candidatesDropped, .group, .groupDeleted, .user, .rules, .revocation, .alias, .aliasDeleted,
            .event:
            break
        }
    }

    private func check(_ message: ServerMessage, to phone: Phone) {
        switch message {
        case .welcome, .error: break
        case .reply(_, .opened(let opened)): invariants.opened(opened.session, scope: phone.scope)
        case .reply(_, let reply):
            if let violation = invariants.violation(of: reply, in: store) { violate(violation) }
        case .event(let seq, let event):
            guard let session = phone.session else { return violate("an event before the session was opened") }
            if seq != phone.lastSeq + 1 { violate("event \(seq) after \(phone.lastSeq)") }
            if let violation = invariants.violation(of: event, seq: seq, to: session.session, store: store) {
                violate(violation)
            }
        }
    }

    private func checkTransmission(_ id: PushID) {
        guard let push = store.pushes[id] else { return violate("transmitted a push that is not on disk") }
        if push.status != .sent { violate("transmitted a push that is \(push.status) on disk") }
        if (provider.sent[id] ?? 0) > (provider.returned[id] ?? 0) { violate("push \(id) was transmitted twice") }
        if now >= push.expiresAt { violate("transmitted after its time") }
        if store.devices[push.device]?.tokens.contains(where: { $0.token == push.token }) != true {
            violate("transmitted to a token that is not the device's")
        }
        guard push.purpose == .call else { return }
        let leg = store.legs[Disk.LegKey(call: push.call, device: push.device)]
        if leg?.state == .ended || leg?.state == .answered || leg?.state == .ringing && isAttended(push) {
            violate("woke a device for nothing")
        }
        if store.calls[push.call]?.state.isRingingPhase != true {
            violate("transmitted for a call that is past ringing")
        }
    }

    /// Whether the device has a session with a socket over which it hears of the call.
    private func isAttended(_ push: PushRecord) -> Bool {
        roster.sessions.values.contains { session in
            session.isOnline && session.record.device == push.device
                && (session.record.wakeCall == nil || session.record.wakeCall == push.call)
        }
    }

    func violate(_ text: String) {
        violations.append(text)
        if violations.count == 1 { Issue.record("\(context)\(text)") }
    }
}

extension PushToken {
    static func voip(_ token: String) -> PushToken {
        PushToken(provider: .apns, kind: .voip, environment: .production, topic: "org.example.phone.voip", token: token)
    }

    static func alert(_ token: String) -> PushToken {
        PushToken(provider: .apns, kind: .alert, environment: .production, topic: "org.example.phone", token: token)
    }

    static func fcm(_ kind: PushKind, _ token: String) -> PushToken {
        PushToken(provider: .fcm, kind: kind, environment: .production, topic: "project", token: token)
    }
}
