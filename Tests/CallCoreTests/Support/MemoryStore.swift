import CallCore
import CallVocabulary

/// Keeps what the core persists as a store would, and gives back at a start what is not over.
struct MemoryStore: Equatable {
    struct LegKey: Hashable {
        var call: CallID
        var device: DeviceKey
    }

    struct AbsenceKey: Hashable {
        var call: CallID
        var role: CallRole
        var lostAt: Instant

        init(_ record: AbsenceRecord) {
            (call, role, lostAt) = (record.call, record.role, record.lostAt)
        }
    }

    private(set) var devices = Table<DeviceKey, DeviceRecord>()
    private(set) var calls = Table<CallID, CallRecord>()
    private(set) var legs = Table<LegKey, LegRecord>()
    private var devicesOfCall: [CallID: [DeviceKey]] = [:]
    /// Which leg a push was allotted to, which device answered, and which calls somebody has left: found without a walk
    /// over a thousand legs.
    private(set) var legOfPush: [PushID: LegKey] = [:]
    private(set) var answering: [CallID: DeviceKey] = [:]
    private(set) var left: Set<CallID> = []
    private(set) var pushes = Table<PushID, PushRecord>()
    private(set) var descriptions = Table<CallID, DescriptionsRecord>()
    private(set) var absences = Table<AbsenceKey, AbsenceRecord>()
    private(set) var missed: [RecoveredState.Missed] = []
    private(set) var candidates: [CandidateRecord] = []
    private(set) var groups = Table<[UInt8], CallGroup>()
    private(set) var users = Table<Handle, UserRecord>()
    private(set) var aliases = Table<Handle, Alias>()

    /// All calls of the user, the newest first.
    func history(_ query: HistoryQuery) -> HistoryPage {
        let user = query.party.user
        func own(_ call: CallRecord) -> [LegRecord] { legs(of: call.id).filter { $0.device.user == user } }
        let calls = calls.values.filter { $0.caller.user == user || !own($0).isEmpty }
        return HistoryPage(
            calls: calls.reversed().map { CallSnapshot($0, for: query.party, legs: own($0)) }, next: nil)
    }

    mutating func apply(_ record: StoreRecord) {
        switch record {
        case .device(let device): devices[device.key] = device
        case .deviceDropped(let key): devices[key] = nil
        case .call(let call): calls[call.id] = call
        case .leg(let leg):
            let key = LegKey(call: leg.call, device: leg.device)
            if legs[key] == nil { devicesOfCall[leg.call, default: []].append(leg.device) }
            legs[key] = leg
            legOfPush[leg.push] = key
            if leg.answeredAt != nil { answering[leg.call] = leg.device }
            if leg.state == .ended { left.insert(leg.call) }
        case .push(let push): pushes[push.id] = push
        case .descriptions(let record): descriptions[record.call] = record
        case .descriptionsDropped(let call): descriptions[call] = nil
        case .absence(let absence): absences[AbsenceKey(absence)] = absence
        case .missed(let user, let call): missed.append(RecoveredState.Missed(user: user, call: call))
        case .missedCleared(let user, let upTo): missed.removeAll { $0.user == user && $0.call.at <= upTo }
        case .candidates(let batch): candidates.append(batch)
        case .candidatesDropped(let call): candidates.removeAll { $0.call == call }
        case .group(let group): groups[Array(group.name.utf8)] = group
        case .groupDeleted(let name): groups[Array(name.utf8)] = nil
        case .user(let user): users[user.handle] = user
        case .alias(let alias): aliases[alias.handle] = alias
        case .aliasDeleted(let handle): aliases[handle] = nil
        }
    }

    func recovered() -> RecoveredState {
        var state = RecoveredState()
        let open = pushes.values.filter(\.isOpen)
        let withOpenPush = Set(open.filter { $0.purpose == .call }.map(\.call))
        state.devices = devices.values
        state.calls = calls.values.filter { $0.state.isLive || withOpenPush.contains($0.id) }
        let kept = Set(state.calls.map(\.id))
        state.legs = legs.values.filter { kept.contains($0.call) }
        state.pushes = pushes.values.filter { kept.contains($0.call) && $0.purpose == .call }
        for push in open where push.purpose != .call {
            guard let call = calls[push.call] else { continue }
            state.notices.append(
                RecoveredState.Notice(
                    push: push, from: call.caller.user, fromName: call.callerName, video: call.video))
        }
        let sent = pushes.values.filter { $0.purpose == .sync && $0.sentAt != nil }
        state.sentSyncs = sent.map { RecoveredState.SentSync(device: $0.device, sentAt: $0.sentAt!) }  // Just filtered.
        state.descriptions = descriptions.values.filter { kept.contains($0.call) }
        state.absences = absences.values.filter { kept.contains($0.call) }
        state.missed = missed
        state.candidates = candidates.filter { kept.contains($0.call) }
        state.groups = groups.values
        state.users = users.values
        state.aliases = aliases.values
        return state
    }

    /// Of every call there is.
    var callIDs: CallIDFilter {
        var filter = CallIDFilter(expecting: calls.values.count)
        for call in calls.values { filter.insert(call.id) }
        return filter
    }

    func storedCall(_ id: CallID) -> StoredCall? {
        calls[id].map {
            StoredCall(
                call: $0, legs: legs(of: id), pushes: pushes.values.filter { $0.call == id },
                absences: absences.values.filter { $0.call == id })
        }
    }

    func legs(of call: CallID) -> [LegRecord] {
        (devicesOfCall[call] ?? []).compactMap { legs[LegKey(call: call, device: $0)] }
    }
}

/// A dictionary that is walked in the order its keys were first set.
struct Table<Key: Hashable, Value: Equatable>: Equatable {
    private var order: [Key] = []
    private var entries: [Key: Value?] = [:]

    var values: [Value] { order.compactMap { entries[$0] ?? nil } }

    subscript(key: Key) -> Value? {
        get { entries[key] ?? nil }
        set {
            if entries.updateValue(newValue, forKey: key) == nil { order.append(key) }
        }
    }
}

extension PushRecord {
    var isOpen: Bool { status == .intended || status == .sent || report == .awaited }
}
