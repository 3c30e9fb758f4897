import CallCore
import CallVocabulary
import Determinism
import PushVocabulary

/// A core without a server, with phones in virtual time. Its effects are counted and dropped.
final class CoreScene {
    /// The inputs and effects of the core since the start.
    struct Counts: Equatable {
        var inputs = 0
        var records = 0
        var messages = 0
        var pushes = 0
        var refusals = 0
    }

    /// The index of a phone.
    typealias Phone = Int

    private let core: CallCore
    private var effects = EffectBuffer()
    private var now = Instant(milliseconds: 1_800_000_000_000)
    private var random = SeededGenerator(seed: 5)
    private var serial: UInt64 = 0
    private(set) var counts = Counts()

    // By phone.
    private var users: [Handle] = []
    private var devices: [DeviceID] = []
    private var connections: [ConnectionID] = []
    /// The number of the last event of each phone.
    private var lastEvents: [UInt64] = []
    /// The last number in ``acknowledgement(_:after:)`` for each phone.
    private var acknowledged: [UInt64] = []
    /// Queued pushes that the core has not been asked about.
    private var ordered: [PushIntent] = []
    private var isTransmitted = false
    private var confirmed: [PushID] = []
    /// Of an empty store.
    private var lookUps: [(UInt64, Wanted)] = []

    private static let sdp = RawJSON(bytes: Array(#""v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\n""#.utf8))

    init() {
        // Two phones replace many, and call each other all the time.
        var limits = CoreLimits()
        (limits.pushesPerDevice, limits.pushingCallsPerPair, limits.pushingCallsPerCaller) = (1 << 30, 1 << 30, 1 << 30)
        (limits.pushesPerCaller, limits.storedBytesPerUser, limits.callBytesPerUser) = (1 << 30, 1 << 40, 1 << 40)
        (limits.ringingCallsPerPair, limits.ringingCallsPerCallee) = (1 << 30, 1 << 30)
        (limits.ringingPairBytes, limits.ringingCalleeBytes) = (1 << 30, 1 << 30)
        limits.idleUsers = 1 << 30
        core = CallCore(limits: limits, random: SeededGenerator(seed: 6))
        // The store is empty, so the core never looks up a new call.
        take(.store(.callsListed(CallIDFilter(expecting: 0))))
    }

    var liveCalls: Int { core.liveCalls }
    var callsConnected: Int { Int(core.counters.callsConnected) }
    var limitsHit: Int { Int(core.counters.limitsHit) }

    // MARK: Phones

    /// Adds phones of new users and connects them.
    func addPhones(_ count: Int) -> Range<Phone> {
        let first = users.count
        for phone in first..<first + count {
            // A valid handle: not empty, without white space.
            users.append(Handle("user\(phone)")!)
            devices.append(DeviceID(random: &random))
            connections.append(ConnectionID(shard: phone, serial: 0))
            lastEvents.append(0)
            acknowledged.append(0)
            open(phone, .full, [Self.token(of: devices[phone])])
        }
        return first..<first + count
    }

    private static func token(of device: DeviceID) -> PushToken {
        PushToken(
            provider: .apns, kind: .voip, environment: .production, topic: "org.example.phone.voip",
            // Half as long as one of Apple's.
            token: "\(device)".replacing("-", with: ""))
    }

    private func open(_ phone: Phone, _ scope: SessionGrant.Scope, _ tokens: [PushToken]?) {
        serial += 1
        connections[phone] = ConnectionID(shard: phone, serial: serial)
        (lastEvents[phone], acknowledged[phone]) = (0, 0)
        let open = SessionOpen(
            token: "", device: DeviceDescription(id: devices[phone], platform: .ios), push: tokens)
        take(
            .client(
                .opened(
                    connections[phone], nextRequest(), open, SessionGrant(user: users[phone], scope: scope))))
    }

    /// Ends its session: from now on only a push reaches it.
    func sleep(_ phone: Phone) {
        ask(phone, .close)
        take(.connectionLost(connections[phone]))
    }

    /// Makes a group of these phones, which rings all at once.
    func makeGroup(_ name: String, _ phones: Range<Phone>) {
        serial += 1
        let group = CallGroup(name: name, strategy: .all, members: phones.map { users[$0] })
        take(.administered(AdminRequestID(serial: serial), .setGroup(group)))
    }

    // MARK: Calls

    /// A complete call: rung, answered, connected on both sides, and hung up by the caller.
    func call(_ caller: Phone, _ callee: Phone) {
        let call = begin(caller, callee)
        ask(caller, .hangup(call, .hangup))
        acknowledge(caller)
        acknowledge(callee)
        advance(.seconds(1))
    }

    /// A connected call that stays live.
    @discardableResult
    func begin(_ caller: Phone, _ callee: Phone) -> CallID {
        let call = invite(caller, .user(users[callee]))
        ask(callee, .ringing(call))
        join(call, caller, callee)
        return call
    }

    private func invite(_ caller: Phone, _ to: CallTarget) -> CallID {
        let (call, invite) = invite(to)
        ask(caller, .invite(invite))
        return call
    }

    private func invite(_ to: CallTarget) -> (CallID, Invite) {
        let call = CallID(random: &random)
        return (call, Invite(call: call, to: to, sdp: Self.sdp))
    }

    private func join(_ call: CallID, _ caller: Phone, _ callee: Phone) {
        ask(callee, .answer(call, sdp: Self.sdp))
        ask(callee, .connected(call))
        ask(caller, .connected(call))
    }

    /// A call to a sleeping phone. APNs accepts the push, and the phone opens a session with its wake token and
    /// reports. After the call it sleeps again.
    func wake(_ caller: Phone, _ callee: Phone) throws {
        let call = invite(caller, .user(users[callee]))
        guard let push = ordered.popLast()?.id, ordered.isEmpty else {
            throw BenchmarkError("a call to a phone that sleeps is to give one push")
        }
        isTransmitted = false
        take(.push(.ready(push)))
        while let id = confirmed.popLast() { take(.push(.committed(id))) }
        guard isTransmitted else { throw BenchmarkError("the core has not let the push go") }
        take(.push(.ended(push, .accepted)))
        open(callee, .call(call), nil)
        ask(callee, .report(PushReport(push: push, call: call, result: .reported)))
        ask(callee, .ringing(call))
        join(call, caller, callee)
        ask(caller, .hangup(call, .hangup))
        acknowledge(caller)
        sleep(callee)
        advance(.seconds(1))
    }

    /// Rings every phone of a group. The first answers, the others are told, and the caller hangs up.
    func callGroup(_ caller: Phone, _ name: String, _ phones: Range<Phone>) {
        let call = invite(caller, .group(name))
        for phone in phones {
            ask(phone, .ringing(call))
            // Acknowledges occasionally, like a phone: unacknowledged events are kept.
            if phone.isMultiple(of: 32) { acknowledge(caller) }
        }
        join(call, caller, phones.lowerBound)
        ask(caller, .hangup(call, .hangup))
        acknowledge(caller)
        for phone in phones { acknowledge(phone) }
        advance(.seconds(1))
    }

    func sendCandidates(_ batch: CallCandidates, from phone: Phone) {
        take(.client(.notified(connections[phone], nil, .candidates(batch))))
    }

    func acknowledge(_ phone: Phone) {
        acknowledged[phone] = lastEvents[phone]
        take(.client(.notified(connections[phone], nil, .ack(seq: lastEvents[phone]))))
    }

    // MARK: Turns of many

    /// The messages of both sides in a complete call, in order, not yet sent.
    func requests(_ caller: Phone, _ callee: Phone) -> [(phone: Phone, message: ClientMessage)] {
        let (call, invite) = invite(.user(users[callee]))
        let requests: [(Phone, ClientRequest)] = [
            (caller, .invite(invite)), (callee, .ringing(call)), (callee, .answer(call, sdp: Self.sdp)),
            (callee, .connected(call)), (caller, .connected(call)), (caller, .hangup(call, .hangup)),
        ]
        return requests.map { ($0, .request(nextRequest(), $1)) }
    }

    /// The acknowledgement of a phone that got at least `events` events since its last one; nil for others.
    func acknowledgement(_ phone: Phone, after events: UInt64) -> ClientMessage? {
        guard lastEvents[phone] >= acknowledged[phone] + events else { return nil }
        acknowledged[phone] = lastEvents[phone]
        return .notification(.ack(seq: lastEvents[phone]))
    }

    /// Passes a message to the core; ``endTurn()`` returns its effects.
    func say(_ phone: Phone, _ message: ClientMessage) {
        counts.inputs += 1
        switch message {
        case .request(let id, let request):
            core.handle(.client(.requested(connections[phone], id, request)), now: now, effects: &effects)
        case .notification(let notification), .answeredNotification(_, let notification):
            core.handle(.client(.notified(connections[phone], nil, notification)), now: now, effects: &effects)
        }
    }

    /// The records and outputs of all messages since the last turn.
    func endTurn() -> (records: [StoreRecord], outputs: [CoreEffect]) {
        let (records, outputs) = effects.take()
        return (records, outputs.release(CommitReceipt()))
    }

    /// Counts the effects, as phones do.
    func note(_ records: [StoreRecord], _ outputs: [CoreEffect]) {
        counts.records += records.count
        for output in outputs { note(output) }
        let wanted = lookUps
        lookUps = []
        for (number, wanted) in wanted {
            take(
                .store(
                    .found(
                        number: number, Found(entries: (wanted.names + wanted.groups).map { DirectoryEntry(name: $0) }))
                ))
        }
    }

    /// Advances the time: an ended call is forgotten after a dozen pauses.
    func pause() { advance(.seconds(10)) }

    var time: Instant { now }

    // MARK: Steps

    private func ask(_ phone: Phone, _ request: ClientRequest) {
        take(.client(.requested(connections[phone], nextRequest(), request)))
    }

    private func nextRequest() -> RequestID {
        serial += 1
        return .number(Int64(serial))
    }

    private func advance(_ duration: Duration) {
        now = now + duration
        guard let due = core.nextDeadline(), due <= now else { return }
        core.handleTimeouts(now: now, effects: &effects)
        carryOut()
    }

    private func take(_ input: CoreInput) {
        counts.inputs += 1
        core.handle(input, now: now, effects: &effects)
        carryOut()
    }

    private func carryOut() {
        let (records, outputs) = effects.take()
        note(records, outputs.release(CommitReceipt()))
    }

    private func note(_ output: CoreEffect) {
        switch output {
        case .send(let connection, let message):
            counts.messages += 1
            note(message, to: connection.shard)
        case .queuePush(let intent), .queueNewPush(let intent):
            counts.pushes += 1
            ordered.append(intent)
        case .confirmPush(let id): confirmed.append(id)
        case .transmitPush: isTransmitted = true
        case .answer(_, .failure): counts.refusals += 1
        case .lookUp(let number, let wanted): lookUps.append((number, wanted))
        case .persist, .disconnect, .dropPush, .settle, .readHistory, .authorize, .authorizeSession, .observe,
            .answer:
            break
        }
    }

    private func note(_ message: ServerMessage, to phone: Phone) {
        switch message {
        case .event(let seq, _): lastEvents[phone] = seq
        case .error: counts.refusals += 1
        case .welcome, .reply: break
        }
    }
}

@available(*, unavailable)
extension CoreScene: Sendable {}
