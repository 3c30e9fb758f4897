import CallCore
import CallVocabulary
import GRDB

/// Writes records within a transaction that is open, each key once however often it occurs.
///
/// Rows are written kind by kind, calls before legs (a leg's trigger looks its call up), and in a kind in the order in
/// which their keys first occurred.
final class BatchWriter {
    private let upsertDevice: SQLRow
    private let upsertToken: SQLRow
    private let trimTokens: SQLRow
    private let upsertCall: SQLRow
    private let upsertLeg: SQLRow
    private let upsertPush: SQLRow
    private let upsertOffer: SQLRow
    private let dropOffer: SQLRow
    private let upsertMissed: SQLRow
    private let clearMissed: SQLRow

    private struct LegKey: Hashable {
        var call: CallID
        var device: DeviceKey
    }

    private var devices = LastOfEach<DeviceKey, DeviceRecord>()
    private var calls = LastOfEach<CallID, CallRecord>()
    private var legs = LastOfEach<LegKey, LegRecord>()
    private var pushes = LastOfEach<PushID, PushRecord>()
    /// nil drops the offer.
    private var offers = LastOfEach<CallID, OfferRecord?>()
    /// Missed calls and their clearing, in order: whether a clearing covers a missed call depends on which came first.
    private var missed: [StoreRecord] = []

    init(_ database: Database) throws {
        upsertDevice = try SQLRow(database, DeviceTable.layout.upsert)
        upsertToken = try SQLRow(database, TokenTable.upsert)
        trimTokens = try SQLRow(database, TokenTable.trim)
        upsertCall = try SQLRow(database, CallTable.layout.upsert)
        upsertLeg = try SQLRow(database, LegTable.layout.upsert)
        upsertPush = try SQLRow(database, PushTable.layout.upsert)
        upsertOffer = try SQLRow(database, OfferTable.layout.upsert)
        dropOffer = try SQLRow(database, OfferTable.drop)
        upsertMissed = try SQLRow(database, MissedTable.layout.upsert)
        clearMissed = try SQLRow(database, MissedTable.clear)
    }

    /// - Returns: how many rows were written: at most one for each key (tokens count with their device).
    func write(_ batches: some Sequence<[StoreRecord]>) throws(StoreFailure) -> Int {
        defer { forget() }
        for batch in batches { for record in batch { take(record) } }
        try writeDevices()
        for record in calls.values {
            CallTable.bind(record, to: upsertCall)
            try upsertCall.run()
        }
        for record in legs.values {
            LegTable.bind(record, to: upsertLeg)
            try upsertLeg.run()
        }
        for record in pushes.values {
            PushTable.bind(record, to: upsertPush)
            try upsertPush.run()
        }
        try writeOffers()
        try writeMissed()
        return devices.values.count + calls.values.count + legs.values.count + pushes.values.count
            + offers.values.count + missed.count
    }

    private func take(_ record: StoreRecord) {
        switch record {
        case .device(let record): devices.set(record, for: record.key)
        case .call(let record): calls.set(record, for: record.id)
        case .leg(let record): legs.set(record, for: LegKey(call: record.call, device: record.device))
        case .push(let record): pushes.set(record, for: record.id)
        case .offer(let record): offers.set(record, for: record.call)
        case .offerDropped(let call): offers.set(nil, for: call)
        case .missed, .missedCleared: missed.append(record)
        }
    }

    private func forget() {
        devices.removeAll()
        calls.removeAll()
        legs.removeAll()
        pushes.removeAll()
        offers.removeAll()
        missed.removeAll(keepingCapacity: true)
    }

    private func writeDevices() throws(StoreFailure) {
        for record in devices.values {
            DeviceTable.bind(record, to: upsertDevice)
            try upsertDevice.run()
            for (position, token) in record.tokens.enumerated() {
                TokenTable.bind(token, of: record.key, at: position, to: upsertToken)
                try upsertToken.run()
            }
            trimTokens.bind(record.key.user)
            trimTokens.bind(record.key.device)
            trimTokens.bind(Int64(record.tokens.count))
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
            case .device, .call, .leg, .push, .offer, .offerDropped:
                preconditionFailure("only missed calls and their clearing are kept here")
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
