import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary
import Determinism

/// Calls as they might go, as records; and what is true of them.
struct RandomCalls {
    static let users = ["alice", "bob", "carol", "dave"].map { Handle($0)! }  // All are handles.

    private(set) var calls: [CallID: StoredCall] = [:]
    /// Of calls that are live.
    private(set) var live: [CallID] = []
    private(set) var now = Instant(milliseconds: 1_800_000_000_000)
    /// Records that may come again.
    private var past: [StoreRecord] = []
    private var random: SeededGenerator
    private var serial: UInt64 = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    var liveViews: [CallID: CallView] {
        var views: [CallID: CallView] = [:]
        for id in live { views[id] = view(id) }
        return views
    }

    func view(_ id: CallID) -> CallView? {
        calls[id].map { CallView($0.call, counts: CallCounts(legs: $0.legs, pushes: $0.pushes)) }
    }

    /// What a store would give back.
    var recovered: RecoveredState {
        var state = RecoveredState()
        for stored in live.compactMap({ calls[$0] }) {
            state.calls.append(stored.call)
            state.legs += stored.legs
            state.pushes += stored.pushes
        }
        return state
    }

    /// No record from before this comes again.
    mutating func forgetPast() { past = [] }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    mutating func pass(_ duration: Duration) { now = now + duration }

    /// Between no and many records, some time later.
    mutating func batch(mostLive: Int) -> [StoreRecord] {
        pass(.milliseconds(below(40)))
        var batch: [StoreRecord] = []
        for _ in 0..<below(12) { batch += step(mostLive: mostLive) }
        past += batch
        return batch
    }

    /// Records that come once more, or late.
    mutating func repeats() -> [StoreRecord] {
        (0..<below(4)).compactMap { _ in past.randomElement(using: &random) }.filter(isOld)
    }

    /// What is on its way to its provider may come back, so that only what was answered can be told from older records.
    private func isOld(_ record: StoreRecord) -> Bool {
        guard case .push(let push) = record else { return true }
        return calls[push.call]?.pushes.first { $0.id == push.id }?.answeredAt != nil
    }

    private mutating func step(mostLive: Int) -> [StoreRecord] {
        guard let id = live.randomElement(using: &random), live.count >= mostLive || below(4) > 0 else {
            return [.call(invite())]
        }
        switch below(5) {
        case 0: return live.count > mostLive / 2 || below(4) == 0 ? end(id) : []
        case 1: return [.call(advance(id))]
        case 2: return [.leg(addLeg(id))]
        case 3: return advanceLeg(id).map { [.leg($0)] } ?? []
        default: return advancePush(id).map { [.push($0)] } ?? []
        }
    }

    private mutating func makeID<Subject>() -> Identifier<Subject> {
        serial += 1
        return Identifier(high: random.next(), low: serial)
    }

    private mutating func invite() -> CallRecord {
        let caller = Self.users[below(4)]
        let callee = Self.users[below(4)]
        let target: CallTarget =
            switch below(3) {
            case 0: .user(callee)
            case 1: .users([callee, Self.users[below(4)]])
            default: .group("sales")
            }
        let record = CallRecord(
            id: makeID(), caller: Party(user: caller, device: makeID()), callerName: "A \"caller\"", to: target,
            video: below(2) == 0, inviteDigest: 0, state: .routing, createdAt: now, ringsUntil: now + .seconds(45))
        calls[record.id] = StoredCall(call: record, legs: [], pushes: [])
        live.append(record.id)
        return record
    }

    /// To the next state, if there is one for a live call.
    private mutating func advance(_ id: CallID) -> CallRecord {
        var record = calls[id]!.call
        switch record.state {
        case .routing: record.state = .waking
        case .waking:
            record.state = .ringing
            record.ringingAt = now
        case .ringing:
            record.state = .answered
            record.answeredAt = now
            record.answeredBy = Party(user: Self.users[below(4)], device: makeID())
        case .answered:
            record.state = .connected
            record.connectedAt = now
        case .connected, .ended: break
        }
        calls[id]!.call = record
        return record
    }

    private mutating func end(_ id: CallID) -> [StoreRecord] {
        var stored = calls[id]!
        stored.call.state = .ended
        stored.call.endedAt = now
        stored.call.endReason = EndReason.allCases[below(EndReason.allCases.count)]
        for index in stored.legs.indices where stored.legs[index].state != .ended {
            stored.legs[index].state = .ended
            stored.legs[index].endedAt = now
        }
        calls[id] = stored
        live.removeAll { $0 == id }
        return [.call(stored.call)] + stored.legs.map { .leg($0) }
    }

    private mutating func addLeg(_ id: CallID) -> LegRecord {
        let device = DeviceKey(user: Self.users[below(4)], device: makeID())
        let leg = LegRecord(call: id, device: device, push: makeID(), state: .idle, createdAt: now)
        calls[id]!.legs.append(leg)
        return leg
    }

    private mutating func advanceLeg(_ id: CallID) -> LegRecord? {
        guard let index = calls[id]!.legs.indices.randomElement(using: &random) else { return nil }
        var leg = calls[id]!.legs[index]
        switch leg.state {
        case .idle: leg.state = .waking
        case .waking:
            leg.state = .offered
            leg.wokenAt = now
            leg.offeredAt = now
        case .offered:
            leg.state = .ringing
            leg.ringingAt = now
        case .ringing:
            leg.state = .answered
            leg.answeredAt = now
        case .answered, .ended: return nil
        }
        calls[id]!.legs[index] = leg
        return leg
    }

    private mutating func advancePush(_ id: CallID) -> PushRecord? {
        guard let leg = calls[id]!.legs.randomElement(using: &random) else { return nil }
        guard let index = calls[id]!.pushes.firstIndex(where: { $0.id == leg.push }) else {
            let token = PushToken(
                provider: .apns, kind: .voip, environment: .sandbox, topic: "org.example.phone.voip", token: "00")
            let push = PushRecord(
                id: leg.push, call: id, device: leg.device, token: token, intendedAt: now,
                expiresAt: now + .seconds(45))
            calls[id]!.pushes.append(push)
            return push
        }
        var push = calls[id]!.pushes[index]
        switch (push.status, push.report) {
        case (.intended, _):
            push.status = .sent
            push.sentAt = now
            push.report = .awaited
        case (.sent, _):
            push.status = .accepted
            push.answeredAt = now
        case (_, .awaited):
            push.report = .reported
            push.reportedAt = now
        default: return nil
        }
        calls[id]!.pushes[index] = push
        return push
    }
}

/// What a subscriber makes of its notifications.
struct Watcher {
    private(set) var calls: [CallID: CallView] = [:]
    private(set) var isComplete = false
    private(set) var resets = 0
    private(set) var frames = 0
    /// Every end it was told, in order.
    private(set) var ends: [CallID] = []

    mutating func take(_ frame: CallsChanged) {
        frames += 1
        if frame.isReset {
            calls = [:]
            resets += 1
        }
        for call in frame.calls {
            calls[call.callID] = call
            if call.state == .ended { ends.append(call.callID) }
        }
        for id in frame.gone { calls[id] = nil }
        isComplete = frame.isComplete
    }
}
