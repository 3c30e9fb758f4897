import CallCore
import CallVocabulary
import Determinism

@testable import CallStore

/// Batches of records as a core may give them: lawful at the end of each batch, with everything that depends on order.
struct RandomHistory {
    private var generator: SeededGenerator
    private var time: Int64 = 100
    private var calls: [CallRecord] = []
    private var legs: [CallID: [LegRecord]] = [:]
    private var pushes: [CallID: [PushRecord]] = [:]
    private let users = ["alice", "bob", "carol", "q\"uo\\te", "é📞"].map { handle($0) }
    private var devices: [DeviceRecord] = []

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    mutating func batch() -> [StoreRecord] {
        (0..<number(0...4)).flatMap { _ in change() }
    }

    private var now: Instant { at(time) }

    private mutating func user() -> Handle { users[number(0...users.count - 1)] }

    private mutating func change() -> [StoreRecord] {
        time += Int64(number(0...3))
        switch number(0...13) {
        case 0...2: return invite()
        case 3...5: return calls.isEmpty ? invite() : go(on: number(max(0, calls.count - 4)...calls.count - 1))
        case 6: return calls.isEmpty ? [] : candidates(of: calls[number(max(0, calls.count - 3)...calls.count - 1)])
        case 7: return device()
        case 8: return [.missedCleared(user: user(), upTo: at(time - Int64(number(0...4))))]
        case 9: return missed()
        case 10: return number(0...1) == 0 ? [.groupDeleted("sales")] : [.group(group())]
        case 11:
            return number(0...1) == 0
                ? [.user(policy())] : [.revocation(RevocationRecord(handle: user(), issuedBefore: now))]
        case 12: return number(0...1) == 0 ? [.aliasDeleted(users[0])] : [.alias(Alias(handle: users[0], user: user()))]
        default: return report()
        }
    }

    private mutating func invite() -> [StoreRecord] {
        var call = CallRecord.live(
            CallID(random: &generator), from: user().text, to: .users([user(), user()]), createdAt: now)
        if number(0...2) == 0 { call.members = [user()] }
        let leg = LegRecord.sample(of: call, user: user().text, device: DeviceID(random: &generator))
        calls.append(call)
        legs[call.id] = [leg]
        let sdp = RawJSON(bytes: Array("\"\(String(repeating: "v=0", count: number(0...300)))\"".utf8))
        return [.call(call), .descriptions(DescriptionsRecord(call: call.id, offer: sdp, custom: nil)), .leg(leg)]
    }

    private mutating func go(on index: Int) -> [StoreRecord] {
        let id = calls[index].id
        guard calls[index].state.isLive else { return notice(of: calls[index]) }
        switch number(0...4) {
        case 0:
            let leg = LegRecord.sample(of: calls[index], user: user().text, device: DeviceID(random: &generator))
            legs[id, default: []].append(leg)
            return [.leg(leg)]
        case 1:
            calls[index].state = .ringing
            calls[index].ringingAt = now
            legs[id]?[0].state = .ringing
            return legs[id]!.prefix(1).map { .leg($0) } + [.call(calls[index])]
        case 2:
            guard let leg = legs[id]?.last, pushes[id]?.contains(where: { $0.id == leg.push }) != true else {
                return []
            }
            let push = PushRecord.sample(of: leg, intendedAt: now)
            pushes[id, default: []].append(push)
            return [.push(push)]
        case 3:
            return [.descriptions(DescriptionsRecord(call: id, offer: nil, custom: RawJSON(bytes: Array("{}".utf8))))]
        default: return end(index)
        }
    }

    private mutating func end(_ index: Int) -> [StoreRecord] {
        let id = calls[index].id
        calls[index].state = .ended
        calls[index].endedAt = now
        calls[index].endReason = .hangup
        for leg in legs[id]!.indices {
            legs[id]![leg].state = .ended
            legs[id]![leg].endReason = .hangup
        }
        return [.call(calls[index])] + legs[id]!.map { .leg($0) } + [.descriptionsDropped(id), .candidatesDropped(id)]
    }

    private mutating func notice(of call: CallRecord) -> [StoreRecord] {
        guard let leg = legs[call.id]?.first, pushes[call.id]?.contains(where: { $0.purpose != .call }) != true else {
            return []
        }
        var push = PushRecord.sample(of: leg, purpose: .missedCall, intendedAt: now)
        push.id = PushID(random: &generator)
        pushes[call.id, default: []].append(push)
        return [.push(push)]
    }

    private mutating func report() -> [StoreRecord] {
        guard let call = calls.last?.id, var push = pushes[call]?.first else { return [] }
        push.status = .accepted
        push.report = .awaited
        push.sentAt = now
        push.reportDueAt = now + .seconds(5)
        pushes[call]![0] = push
        return [.push(push)]
    }

    private mutating func candidates(of call: CallRecord) -> [StoreRecord] {
        guard number(0...3) > 0 else { return [.candidatesDropped(call.id)] }
        return [.candidates(.sample((0..<number(0...2)).map { "{\"n\":\($0),\"t\":\(time)}" }, of: call))]
    }

    private mutating func device() -> [StoreRecord] {
        if let known = devices.indices.randomElement(using: &generator), number(0...2) > 0 {
            guard number(0...2) > 0 else { return [.deviceDropped(devices.remove(at: known).key)] }
            devices[known].tokens = number(0...1) == 0 ? [] : [.init(token: .sample("\(time)"), registeredAt: now)]
            return [.device(devices[known])]
        }
        devices.append(.full(user: user().text, device: DeviceID(random: &generator)))
        return [.device(devices[devices.count - 1])]
    }

    private mutating func missed() -> [StoreRecord] {
        guard let call = calls.last?.id else { return [] }
        let missed = MissedCall(call: call, from: user(), at: now, reason: .ringTimeout, video: false)
        return [.missed(user: user(), missed)]
    }

    private mutating func group() -> CallGroup {
        CallGroup(name: "sales", strategy: number(0...1) == 0 ? .hunt : .all, members: [user()])
    }

    private mutating func policy() -> UserRecord {
        var record = UserRecord(handle: user(), policy: UserPolicy())
        record.policy.doNotDisturb = number(0...1) == 0
        return record
    }
}
