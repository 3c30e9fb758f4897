import CallCore
import CallVocabulary

/// A store in memory: records by key, and the recovery at a start.
package struct Disk: Equatable {
    package struct LegKey: Hashable {
        package var call: CallID
        package var device: DeviceKey

        package init(call: CallID, device: DeviceKey) {
            self.call = call
            self.device = device
        }
    }

    package struct AbsenceKey: Hashable {
        var call: CallID
        var role: CallRole
        var lostAt: Instant

        init(_ record: AbsenceRecord) {
            (call, role, lostAt) = (record.call, record.role, record.lostAt)
        }
    }

    package struct Missed: Equatable {
        package var user: Handle
        package var call: MissedCall
    }

    package private(set) var devices = Table<DeviceKey, DeviceRecord>()
    package private(set) var calls = Table<CallID, CallRecord>()
    package private(set) var legs = Table<LegKey, LegRecord>()
    /// The leg of each push, the answering device of each call, and the calls with an ended leg.
    package private(set) var legOfPush: [PushID: LegKey] = [:]
    package private(set) var answering: [CallID: DeviceKey] = [:]
    package private(set) var left: Set<CallID> = []
    private var devicesOfCall: [CallID: [DeviceKey]] = [:]
    package private(set) var pushes = Table<PushID, PushRecord>()
    private var pushesOfCall: [CallID: [PushID]] = [:]
    package private(set) var descriptions = Table<CallID, DescriptionsRecord>()
    package private(set) var absences = Table<AbsenceKey, AbsenceRecord>()
    package private(set) var missed: [Missed] = []
    package private(set) var candidates: [CandidateRecord] = []
    /// By the bytes of their names: canonically equivalent strings name different groups.
    package private(set) var groups = Table<[UInt8], CallGroup>()
    package private(set) var users = Table<Handle, UserRecord>()
    package private(set) var rules = Table<Handle, RulesRecord>()
    package private(set) var revocations = Table<Handle, RevocationRecord>()
    package private(set) var aliases = Table<Handle, Alias>()
    /// The events of each call, in order.
    package private(set) var events: [CallID: [EventRecord]] = [:]
    /// In order of creation.
    package private(set) var liveCalls: [CallID] = []
    package private(set) var openPushes: [PushID] = []

    package init() {}

    package mutating func apply(_ record: StoreRecord) {
        switch record {
        case .device(let device): devices[device.key] = device
        case .deviceDropped(let key): devices[key] = nil
        case .call(let call):
            if !call.state.isLive {
                liveCalls.removeAll { $0 == call.id }
            } else if calls[call.id] == nil {
                liveCalls.append(call.id)
            }
            calls[call.id] = call
        case .leg(let leg):
            let key = LegKey(call: leg.call, device: leg.device)
            if legs[key] == nil { devicesOfCall[leg.call, default: []].append(leg.device) }
            legs[key] = leg
            legOfPush[leg.push] = key
            if leg.answeredAt != nil { answering[leg.call] = leg.device }
            if leg.state == .ended { left.insert(leg.call) }
        case .push(let push):
            if pushes[push.id] == nil { pushesOfCall[push.call, default: []].append(push.id) }
            if !push.isOpen {
                openPushes.removeAll { $0 == push.id }
            } else if pushes[push.id]?.isOpen != true {
                openPushes.append(push.id)
            }
            pushes[push.id] = push
        case .descriptions(let record): descriptions[record.call] = record
        case .descriptionsDropped(let call): descriptions[call] = nil
        case .absence(let absence): absences[AbsenceKey(absence)] = absence
        case .missed(let user, let call): missed.append(Missed(user: user, call: call))
        case .missedCleared(let user, let upTo): missed.removeAll { $0.user == user && $0.call.at <= upTo }
        case .candidates(let batch): candidates.append(batch)
        case .candidatesDropped(let call): candidates.removeAll { $0.call == call }
        case .group(let group): groups[Array(group.name.utf8)] = group
        case .groupDeleted(let name): groups[Array(name.utf8)] = nil
        case .user(let user): users[user.handle] = user
        case .rules(let record): rules[record.handle] = record
        case .revocation(let record): revocations[record.handle] = record
        case .alias(let alias): aliases[alias.handle] = alias
        case .aliasDeleted(let handle): aliases[handle] = nil
        case .event(let event):
            if case .call(let call, _, _) = event.subject { events[call.id, default: []].append(event) }
        }
    }

    package func leg(_ call: CallID, _ device: DeviceKey) -> LegRecord? { legs[LegKey(call: call, device: device)] }

    package func legs(of call: CallID) -> [LegRecord] {
        (devicesOfCall[call] ?? []).compactMap { leg(call, $0) }
    }

    package func absences(of call: CallID) -> [AbsenceRecord] { absences.values.filter { $0.call == call } }

    package func pushes(of call: CallID) -> [PushRecord] { (pushesOfCall[call] ?? []).compactMap { pushes[$0] } }

    /// The ids of all calls.
    package var callIDs: CallIDFilter {
        var filter = CallIDFilter(expecting: calls.values.count)
        for call in calls.values { filter.insert(call.id) }
        return filter
    }

    /// Whether the user has ever opened a session.
    package func knows(_ user: Handle) -> Bool { devices.keys.contains { $0.user == user } }

    package func stored(_ id: CallID) -> StoredCall? {
        calls[id].map { StoredCall(call: $0, legs: legs(of: id), pushes: pushes(of: id), absences: absences(of: id)) }
    }

    /// The answer to a lookup.
    package func found(_ wanted: Wanted) -> Found {
        let call = wanted.call.flatMap(stored)
        let holders = devices.values.filter { device in
            device.tokens.contains { wanted.tokens.contains($0.token.address) }
        }
        var seen: Set<Handle> = []
        let names = (wanted.names + wanted.groups + (call?.parties ?? []) + holders.map(\.key.user)).filter {
            seen.insert($0).inserted
        }
        return Found(call: call, entries: names.map(entry))
    }

    package func entry(_ name: Handle) -> DirectoryEntry {
        var entry = DirectoryEntry(name: name)
        entry.devices = devices.values.filter { $0.key.user == name }
        entry.policy = users[name]?.policy
        entry.rules = rules[name]?.rules ?? CallRules()
        entry.revokedBefore = revocations[name]?.issuedBefore
        entry.missed = missed.filter { $0.user == name }.map(\.call)
        entry.sentSyncs = pushes.values.compactMap { push in
            guard push.purpose == .sync, push.device.user == name, let sentAt = push.sentAt else { return nil }
            return DirectoryEntry.SentSync(device: push.device.device, sentAt: sentAt)
        }
        entry.sentSyncs.sort { $0.sentAt < $1.sentAt }
        entry.aliasOf = aliases[name]?.user
        entry.aliases = aliases.values.filter { $0.user == name }.map(\.handle)
        entry.group = groups[Array(name.text.utf8)]
        entry.memberships = groups.values.filter { $0.members.contains(name) }.compactMap { Handle(known: $0.name) }
        return entry
    }

    /// Users with a device that was not seen since `time`.
    package func unseen(since time: Instant) -> [Handle] {
        var seen: Set<Handle> = []
        return devices.values.filter { $0.seenAt <= time }.map(\.key.user).filter { seen.insert($0).inserted }
    }

    /// The newest calls of the user, in the format of the server's reader.
    package func history(_ query: HistoryQuery) -> HistoryPage {
        let user = query.party.user
        let own = calls.values.filter { $0.caller.user == user || !legs(of: $0.id, user).isEmpty }
        let newest = own.sorted { $0.createdAt > $1.createdAt }.prefix(query.limit ?? 50)
        return HistoryPage(
            calls: newest.map { CallSnapshot($0, for: query.party, legs: legs(of: $0.id, user)) }, next: nil)
    }

    private func legs(of call: CallID, _ user: Handle) -> [LegRecord] {
        legs(of: call).filter { $0.device.user == user }
    }

    /// The open records, in the order of their first write.
    package func recovered() -> RecoveredState {
        var state = RecoveredState()
        let open = openPushes.compactMap { pushes[$0] }
        let withOpenPush = Set(open.filter { $0.purpose == .call }.map(\.call))
        state.calls = calls.values.filter { $0.state.isLive || withOpenPush.contains($0.id) }
        let kept = Set(state.calls.map(\.id))
        for call in state.calls {
            state.legs += legs(of: call.id)
            state.pushes += pushes(of: call.id).filter { $0.purpose == .call }
        }
        for push in open where push.purpose != .call {
            guard let call = calls[push.call] else { continue }
            state.notices.append(
                RecoveredState.Notice(
                    push: push, from: call.caller.user, fromName: call.callerName, video: call.video))
        }
        state.descriptions = descriptions.values.filter { kept.contains($0.call) }
        state.absences = absences.values.filter { kept.contains($0.call) }
        state.candidates = candidates.filter { kept.contains($0.call) }
        state.users = state.userNames.map(entry)
        state.suspended = devices.values.filter { $0.suspendedAt != nil }.map(\.key)
        return state
    }
}

/// A dictionary that iterates in insertion order.
package struct Table<Key: Hashable, Value: Equatable>: Equatable {
    package private(set) var keys: [Key] = []
    private var entries: [Key: Value?] = [:]

    package init() {}

    package var values: [Value] { keys.compactMap { entries[$0] ?? nil } }

    package subscript(key: Key) -> Value? {
        get { entries[key] ?? nil }
        set {
            if entries.updateValue(newValue, forKey: key) == nil { keys.append(key) }
        }
    }
}

extension PushRecord {
    package var isOpen: Bool { status == .intended || status == .sent || report == .awaited }
}

extension CallRecord {
    /// The users called.
    package var callees: [Handle] {
        if let members { return members }
        switch to {
        case .user(let handle): return [handle]
        case .users(let handles): return handles
        case .group: return []
        }
    }

    /// The one user called; nil for a list or a group.
    package var onlyCallee: Handle? {
        guard case .user = to else { return nil }
        return callees.count == 1 ? callees[0] : nil
    }
}
