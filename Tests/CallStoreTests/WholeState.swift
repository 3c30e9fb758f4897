import CallCore
import CallVocabulary
import GRDB
import RecordTables
import StoreInterface

@testable import CallStore

/// All that a store has for a server: what a start reads, and the whole directory.
struct WholeState: Equatable {
    struct Missed: Equatable {
        var user: Handle
        var call: MissedCall
    }

    struct SentSync: Equatable {
        var device: DeviceKey
        var sentAt: Instant
    }

    var devices: [DeviceRecord] = []
    var calls: [CallRecord] = []
    var legs: [LegRecord] = []
    var pushes: [PushRecord] = []
    var notices: [RecoveredState.Notice] = []
    var sentSyncs: [SentSync] = []
    var descriptions: [DescriptionsRecord] = []
    var absences: [AbsenceRecord] = []
    var missed: [Missed] = []
    var candidates: [CandidateRecord] = []
    var groups: [CallGroup] = []
    var users: [UserRecord] = []
    var rules: [RulesRecord] = []
    var revocations: [RevocationRecord] = []
    var aliases: [Alias] = []

    init() {}

    init(_ state: RecoveredState, _ entries: [DirectoryEntry]) {
        (calls, legs, pushes, notices) = (state.calls, state.legs, state.pushes, state.notices)
        (descriptions, absences, candidates) = (state.descriptions, state.absences, state.candidates)
        for entry in entries {
            devices += entry.devices
            if let policy = entry.policy { users.append(UserRecord(handle: entry.name, policy: policy)) }
            if let time = entry.revokedBefore {
                revocations.append(RevocationRecord(handle: entry.name, issuedBefore: time))
            }
            missed += entry.missed.map { Missed(user: entry.name, call: $0) }
            sentSyncs += entry.sentSyncs.map {
                SentSync(device: DeviceKey(user: entry.name, device: $0.device), sentAt: $0.sentAt)
            }
            if let user = entry.aliasOf { aliases.append(Alias(handle: entry.name, user: user)) }
            if let group = entry.group { groups.append(group) }
        }
        sentSyncs.sort { $0.sentAt < $1.sentAt }
    }
}

extension TableQueries {
    /// - Parameter open: what a start reads.
    /// - Throws: ``StoreFailure``; also when the indexes of aliases and groups do not agree with their tables.
    func whole(_ open: RecoveredState) throws -> WholeState {
        let names = try source.statement(
            """
            SELECT user FROM device UNION SELECT handle FROM user_policy UNION SELECT handle FROM call_rules
            UNION SELECT handle FROM token_revocation UNION SELECT user FROM missed_call
            UNION SELECT handle FROM alias UNION SELECT name FROM call_group ORDER BY 1
            """
        ).all { row throws(StoreFailure) in Handle(known: try row.text()) }
        // A group's name may be no handle in these tests.
        var whole = WholeState(open, try entries(names.compactMap(\.self)))
        whole.groups = try groups(after: nil, limit: .max)
        whole.rules = try source.statement(RulesTable.layout.select + " ORDER BY handle").all(RulesTable.read)
        for member in Set(whole.groups.flatMap(\.members)) {
            let names = whole.groups.filter { $0.members.contains(member) }.compactMap { Handle(known: $0.name) }
            guard try entries([member])[0].memberships == names else {
                throw StoreFailure(.corrupted, path: "", detail: "\(member) is in other groups than those listed")
            }
        }
        for alias in whole.aliases {
            guard try entries([alias.user])[0].aliases.contains(alias.handle) else {
                throw StoreFailure(.corrupted, path: "", detail: "\(alias.handle) is not found by its user")
            }
        }
        return whole
    }
}

extension CallStore {
    func whole() throws(StoreFailure) -> WholeState {
        let open = try recover()
        return try StoreFailure.wrap(StoreFolder.database(in: folder)) {
            try tables.queue.read { try TableQueries($0).whole(open) }
        }
    }
}

extension OpenStore {
    func whole() throws(StoreFailure) -> WholeState {
        let open = try recover()
        let reader = try reader()
        defer { reader.close() }
        return try reader.whole(open)
    }
}

extension TableReader {
    fileprivate func whole(_ open: RecoveredState) throws(StoreFailure) -> WholeState {
        try query { try $0.whole(open) }
    }

    func found(_ wanted: [Wanted]) throws(StoreFailure) -> [Found] { try query { try $0.found(wanted) } }
}
