import CallCore
import CallVocabulary
import GRDB

/// Writes records within a transaction that is open, each key once however often it occurs.
///
/// Rows are written kind by kind, calls before legs (a leg's trigger looks its call up), and in a kind in the order in
/// which their keys first occurred.
final class BatchWriter {
    private let upsertDevice: SQLRow
    private let dropDevice: SQLRow
    private let upsertToken: SQLRow
    private let trimTokens: SQLRow
    private let upsertCall: SQLRow
    private let upsertLeg: SQLRow
    private let upsertPush: SQLRow
    private let upsertOffer: SQLRow
    private let dropOffer: SQLRow
    private let upsertMissed: SQLRow
    private let clearMissed: SQLRow
    private let insertCandidates: SQLRow
    private let dropCandidates: SQLRow
    private let upsertGroup: SQLRow
    private let deleteGroup: SQLRow
    private let upsertUser: SQLRow
    private let upsertAlias: SQLRow
    private let deleteAlias: SQLRow
    private let findCall: SQLRow
    /// Calls that ended before this may have been deleted since this connection was opened.
    private var deletedBefore: Instant?

    private struct LegKey: Hashable {
        var call: CallID
        var device: DeviceKey
    }

    /// nil drops the device.
    private var devices = LastOfEach<DeviceKey, DeviceRecord?>()
    private var calls = LastOfEach<CallID, CallRecord>()
    private var legs = LastOfEach<LegKey, LegRecord>()
    private var pushes = LastOfEach<PushID, PushRecord>()
    /// nil drops the offer.
    private var offers = LastOfEach<CallID, OfferRecord?>()
    /// Missed calls and their clearing, in order: whether a clearing covers a missed call depends on which came first.
    private var missed: [StoreRecord] = []
    /// Candidates and their dropping, in order.
    private var candidates: [StoreRecord] = []
    /// nil deletes the group.
    private var groups = LastOfEach<[UInt8], CallGroup?>()
    private var users = LastOfEach<Handle, UserRecord>()
    /// nil deletes the alias.
    private var aliases = LastOfEach<Handle, Alias?>()

    init(_ database: Database) throws {
        upsertDevice = try SQLRow(database, DeviceTable.layout.upsert)
        dropDevice = try SQLRow(database, DeviceTable.drop)
        upsertToken = try SQLRow(database, TokenTable.upsert)
        trimTokens = try SQLRow(database, TokenTable.trim)
        upsertCall = try SQLRow(database, CallTable.layout.upsert)
        upsertLeg = try SQLRow(database, LegTable.layout.upsert)
        upsertPush = try SQLRow(database, PushTable.layout.upsert)
        upsertOffer = try SQLRow(database, OfferTable.layout.upsert)
        dropOffer = try SQLRow(database, OfferTable.drop)
        upsertMissed = try SQLRow(database, MissedTable.layout.upsert)
        clearMissed = try SQLRow(database, MissedTable.clear)
        insertCandidates = try SQLRow(database, CandidateTable.layout.insert)
        dropCandidates = try SQLRow(database, CandidateTable.drop)
        upsertGroup = try SQLRow(database, GroupTable.layout.upsert)
        deleteGroup = try SQLRow(database, GroupTable.delete)
        upsertUser = try SQLRow(database, UserTable.layout.upsert)
        upsertAlias = try SQLRow(database, AliasTable.layout.upsert)
        deleteAlias = try SQLRow(database, AliasTable.delete)
        findCall = try SQLRow(database, "SELECT 1 FROM call WHERE id = ?")
    }

    /// From now on nothing is written about a call that ended before `cutoff` and is gone: a report may come for a call
    /// that was looked up just before it was deleted.
    func callsMayBeDeleted(before cutoff: Instant) {
        deletedBefore = max(deletedBefore ?? cutoff, cutoff)
    }

    private func isDeleted(_ call: CallID, since instant: Instant) throws(StoreFailure) -> Bool {
        guard let deletedBefore, instant < deletedBefore else { return false }
        findCall.bind(call)
        return try findCall.first { _ in true } == nil
    }

    /// - Returns: how many rows were written: at most one for each key (tokens count with their device), and each batch
    ///   of candidates.
    func write(_ batches: some Sequence<[StoreRecord]>) throws(StoreFailure) -> Int {
        defer { forget() }
        for batch in batches { for record in batch { take(record) } }
        try writeDevices()
        for record in calls.values {
            CallTable.bind(record, to: upsertCall)
            try upsertCall.run()
        }
        for record in legs.values where try !isDeleted(record.call, since: record.createdAt) {
            LegTable.bind(record, to: upsertLeg)
            try upsertLeg.run()
        }
        for record in pushes.values where try !isDeleted(record.call, since: record.intendedAt) {
            PushTable.bind(record, to: upsertPush)
            try upsertPush.run()
        }
        try writeOffers()
        try writeMissed()
        try writeCandidates()
        try writeAdministration()
        return devices.values.count + calls.values.count + legs.values.count + pushes.values.count
            + offers.values.count + missed.count + candidates.count + groups.values.count + users.values.count
            + aliases.values.count
    }

    private func take(_ record: StoreRecord) {
        switch record {
        case .device(let record): devices.set(record, for: record.key)
        case .deviceDropped(let key): devices.set(nil, for: key)
        case .call(let record): calls.set(record, for: record.id)
        case .leg(let record): legs.set(record, for: LegKey(call: record.call, device: record.device))
        case .push(let record): pushes.set(record, for: record.id)
        case .offer(let record): offers.set(record, for: record.call)
        case .offerDropped(let call): offers.set(nil, for: call)
        case .missed, .missedCleared: missed.append(record)
        case .candidates, .candidatesDropped: candidates.append(record)
        case .group(let group): groups.set(group, for: Array(group.name.utf8))
        case .groupDeleted(let name): groups.set(nil, for: Array(name.utf8))
        case .user(let record): users.set(record, for: record.handle)
        case .alias(let alias): aliases.set(alias, for: alias.handle)
        case .aliasDeleted(let handle): aliases.set(nil, for: handle)
        }
    }

    private func forget() {
        devices.removeAll()
        calls.removeAll()
        legs.removeAll()
        pushes.removeAll()
        offers.removeAll()
        missed.removeAll(keepingCapacity: true)
        candidates.removeAll(keepingCapacity: true)
        groups.removeAll()
        users.removeAll()
        aliases.removeAll()
    }

    private func writeDevices() throws(StoreFailure) {
        for (key, record) in zip(devices.keys, devices.values) {
            if let record {
                DeviceTable.bind(record, to: upsertDevice)
                try upsertDevice.run()
            } else {
                dropDevice.bind(key.user)
                dropDevice.bind(key.device)
                try dropDevice.run()
            }
            let tokens = record?.tokens ?? []
            for (position, token) in tokens.enumerated() {
                TokenTable.bind(token, of: key, at: position, to: upsertToken)
                try upsertToken.run()
            }
            trimTokens.bind(key.user)
            trimTokens.bind(key.device)
            trimTokens.bind(Int64(tokens.count))
            try trimTokens.run()
        }
    }

    private func writeOffers() throws(StoreFailure) {
        for (call, offer) in zip(offers.keys, offers.values) {
            if let offer {
                OfferTable.bind(offer, to: upsertOffer)
                try upsertOffer.run()
            } else {
                dropOffer.bind(call)
                try dropOffer.run()
            }
        }
    }

    private func writeMissed() throws(StoreFailure) {
        for record in missed {
            switch record {
            case .missed(let user, let call):
                MissedTable.bind(call, of: user, to: upsertMissed)
                try upsertMissed.run()
            case .missedCleared(let user, let upTo):
                clearMissed.bind(user)
                clearMissed.bind(upTo)
                try clearMissed.run()
            case .device, .deviceDropped, .call, .leg, .push, .offer, .offerDropped, .candidates, .candidatesDropped,
                .group,
                .groupDeleted,
                .user, .alias, .aliasDeleted:
                preconditionFailure("only missed calls and their clearing are kept here")
            }
        }
    }

    private func writeCandidates() throws(StoreFailure) {
        for record in candidates {
            switch record {
            case .candidates(let record):
                CandidateTable.bind(record, to: insertCandidates)
                try insertCandidates.run()
            case .candidatesDropped(let call):
                dropCandidates.bind(call)
                try dropCandidates.run()
            case .device, .deviceDropped, .call, .leg, .push, .offer, .offerDropped, .missed, .missedCleared, .group,
                .groupDeleted,
                .user, .alias, .aliasDeleted:
                preconditionFailure("only candidates and their dropping are kept here")
            }
        }
    }

    private func writeAdministration() throws(StoreFailure) {
        for (name, group) in zip(groups.keys, groups.values) {
            if let group {
                GroupTable.bind(group, to: upsertGroup)
                try upsertGroup.run()
            } else {
                deleteGroup.bind(String(decoding: name, as: UTF8.self))
                try deleteGroup.run()
            }
        }
        for record in users.values {
            UserTable.bind(record, to: upsertUser)
            try upsertUser.run()
        }
        for (handle, alias) in zip(aliases.keys, aliases.values) {
            if let alias {
                AliasTable.bind(alias, to: upsertAlias)
                try upsertAlias.run()
            } else {
                deleteAlias.bind(handle)
                try deleteAlias.run()
            }
        }
    }
}

@available(*, unavailable)
extension BatchWriter: Sendable {}

/// The last value set for each key, in the order in which the keys first came.
private struct LastOfEach<Key: Hashable, Value> {
    /// A table larger than this is given back after use: emptying one costs time in proportion to its size.
    private static var keptCapacity: Int { 4096 }

    private(set) var keys: [Key] = []
    private(set) var values: [Value] = []
    private var slots: [Key: Int] = [:]

    mutating func set(_ value: Value, for key: Key) {
        if let slot = slots[key] {
            values[slot] = value
        } else {
            slots[key] = values.count
            keys.append(key)
            values.append(value)
        }
    }

    mutating func removeAll() {
        guard !keys.isEmpty else { return }
        let isSmall = slots.capacity <= Self.keptCapacity
        keys.removeAll(keepingCapacity: isSmall)
        values.removeAll(keepingCapacity: isSmall)
        slots.removeAll(keepingCapacity: isSmall)
    }
}
