import CallCore
import CallVocabulary
import Determinism
import PushVocabulary

/// A core by itself, with phones that say what phones say, on virtual time. What the core wants done is counted and
/// dropped.
final class CoreScene {
    /// What the core was told and has said since the start.
    struct Counts: Equatable {
        var inputs = 0
        var records = 0
        var messages = 0
        var pushes = 0
        var refusals = 0
    }

    /// A phone's place among all.
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
    /// The number of the last event.
    private var lastEvents: [UInt64] = []
    /// The last one in ``acknowledgement(_:after:)``.
    private var acknowledged: [UInt64] = []
    /// Pushes that the core has ordered and not yet been asked about.
    private var ordered: [PushIntent] = []
    private var isTransmitted = false
    private var confirmed: [PushID] = []

    private static let sdp = RawJSON(bytes: Array(#""v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\n""#.utf8))

    init() {
        // Two phones stand for many here, and call each other all the time.
        var limits = CoreLimits()
        (limits.pushesPerDevice, limits.pushingCallsPerPair, limits.pushingCallsPerCaller) = (1 << 30, 1 << 30, 1 << 30)
        core = CallCore(limits: limits, random: SeededGenerator(seed: 6))
        // A server with an empty store: a new call is not looked up.
        take(.store(.callsListed(CallIDFilter(expecting: 0))))
    }

    var liveCalls: Int { core.liveCalls }
    var callsConnected: Int { Int(core.counters.callsConnected) }
    var limitsHit: Int { Int(core.counters.limitsHit) }

    // MARK: Phones

    /// Phones of new users, all of them online.
    func addPhones(_ count: Int) -> Range<Phone> {
        let first = users.count
        for phone in first..<first + count {
            // A handle: not empty and without white space.
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
            // As long as half of one of Apple's.
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

    /// Its session ends, and only a push reaches it from now on.
    func sleep(_ phone: Phone) {
        ask(phone, .close)
        take(.connectionLost(connections[phone]))
    }

    /// A group that is rung all at once, of these phones.
    func makeGroup(_ name: String, _ phones: Range<Phone>) {
        serial += 1
        let group = CallGroup(name: name, strategy: .all, members: phones.map { users[$0] })
        take(.administered(AdminRequestID(serial: serial), .setGroup(group)))
    }

    // MARK: Calls

    /// From the invite to the end: rung, answered, connected on both sides and hung up by the caller.
    func call(_ caller: Phone, _ callee: Phone) {
        let call = begin(caller, callee)
        ask(caller, .hangup(call, .hangup))
        acknowledge(caller)
        acknowledge(callee)
        advance(.seconds(1))
    }

    /// A call that both sides are connected in, and stay.
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

    /// A call to a phone that sleeps: the push goes out and is accepted, the phone opens a session with its wake token,
    /// reports, and the rest is as in any call. It sleeps again afterwards.
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

    /// Every phone of a group rings, the first answers, the others are told so, and the caller hangs up.
    func callGroup(_ caller: Phone, _ name: String, _ phones: Range<Phone>) {
        let call = invite(caller, .group(name))
        for phone in phones {
            ask(phone, .ringing(call))
            // As a phone does now and then: what is not acknowledged is kept.
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

    /// All that the phone was told is handled.
    func acknowledge(_ phone: Phone) {
        acknowledged[phone] = lastEvents[phone]
        take(.client(.notified(connections[phone], nil, .ack(seq: lastEvents[phone]))))
    }

    // MARK: Turns of many

    /// What both say in a call from its invite to its end, in order; none of it is said yet.
    func requests(_ caller: Phone, _ callee: Phone) -> [(phone: Phone, message: ClientMessage)] {
        let (call, invite) = invite(.user(users[callee]))
        let requests: [(Phone, ClientRequest)] = [
            (caller, .invite(invite)), (callee, .ringing(call)), (callee, .answer(call, sdp: Self.sdp)),
            (callee, .connected(call)), (caller, .connected(call)), (caller, .hangup(call, .hangup)),
        ]
        return requests.map { ($0, .request(nextRequest(), $1)) }
    }

    /// The acknowledgement of a phone that has been told so much since its last one.
    func acknowledgement(_ phone: Phone, after events: UInt64) -> ClientMessage? {
        guard lastEvents[phone] >= acknowledged[phone] + events else { return nil }
        acknowledged[phone] = lastEvents[phone]
        return .notification(.ack(seq: lastEvents[phone]))
    }

    /// Takes what a phone says; what follows from it is left for ``endTurn()``.
    func say(_ phone: Phone, _ message: ClientMessage) {
        counts.inputs += 1
        switch message {
        case .request(let id, let request):
            core.handle(.client(.requested(connections[phone], id, request)), now: now, effects: &effects)
        case .notification(let notification), .answeredNotification(_, let notification):
            core.handle(.client(.notified(connections[phone], nil, notification)), now: now, effects: &effects)
        }
    }

    /// What follows from all that was said since the last turn.
    func endTurn() -> (records: [StoreRecord], outputs: [CoreEffect]) {
        let (records, outputs) = effects.take()
        return (records, outputs.release(CommitReceipt()))
    }

    /// Counts what was taken, as the phones do.
    func note(_ records: [StoreRecord], _ outputs: [CoreEffect]) {
        counts.records += records.count
        for output in outputs { note(output) }
    }

    /// Some time goes by: a call that is over is forgotten after a dozen of these.
    func pause() { advance(.seconds(10)) }

    /// The time.
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
        case .persist, .disconnect, .dropPush, .findCall, .readHistory, .observe, .answer: break
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
