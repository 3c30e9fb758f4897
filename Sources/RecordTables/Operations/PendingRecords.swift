import CallCore
import CallVocabulary
import DequeModule
import StoreInterface

/// Runs operations within an open transaction.
package protocol OperationSink {
    /// - Parameter operations: must stay at their address during the call.
    func run(_ operations: UnsafeRawBufferPointer) throws(StoreFailure)
}

/// Records that are not in the tables yet: the last one for each key. Their calls and devices are in order of first
/// arrival.
///
/// Records of one call stay together and are written in one transaction, so that no reader sees an ended call with a
/// leg that has not. The row of the call is written first, because the others look it up.
package struct PendingRecords {
    /// The operations that write a record.
    private struct Item {
        var chunk: OperationChunk
        var range: Range<Int>

        func run(with runner: some OperationSink) throws(StoreFailure) {
            try chunk.withBytes(range) { (operations) throws(StoreFailure) in try runner.run(operations) }
        }
    }

    private enum Key: Hashable {
        /// By the push id allocated with the leg, which is unique.
        case leg(PushID)
        case push(PushID)
        case absence(CallID, CallRole, Instant)
        case device(DeviceKey)
        case user(Handle)
        case rules(Handle)
        case revocation(Handle)
        case alias(Handle)
        /// Names of groups are compared byte by byte.
        case group([UInt8])
    }

    /// Records written together: a call with its dependent records, or one record of another kind.
    private struct Group {
        /// The journal entry of its first record; others may be in later entries.
        let entry: Int64
        var id: CallID?
        var call: Item?
        var descriptions: Item?
        var others: [(key: Key?, item: Item)] = []

        var count: Int { others.count + (call == nil ? 0 : 1) + (descriptions == nil ? 0 : 1) }

        /// - Returns: whether it is the first one.
        mutating func set(call item: Item) -> Bool {
            defer { call = item }
            return call == nil
        }

        /// - Returns: whether it is the first one.
        mutating func set(descriptions item: Item) -> Bool {
            defer { descriptions = item }
            return descriptions == nil
        }
    }

    private var groups = Deque<Group>()
    /// The number of groups removed from the front: indexes below count from the first one ever added.
    private var removed = 0
    private var calls: [CallID: Int] = [:]
    private var slots: [Key: (group: Int, other: Int)] = [:]
    package private(set) var count = 0

    package init() {}

    /// - Parameters:
    ///   - range: the operations of `record` in `chunk`.
    ///   - entry: the journal entry of the record; never decreases.
    package mutating func take(_ record: StoreRecord, in chunk: OperationChunk, _ range: Range<Int>, entry: Int64) {
        let item = Item(chunk: chunk, range: range)
        switch record {
        case .call(let record):
            let index = group(of: record.id, entry) - removed
            if groups[index].set(call: item) { count += 1 }
        case .descriptions(let record): set(descriptions: item, of: record.call, entry)
        case .descriptionsDropped(let call): set(descriptions: item, of: call, entry)
        case .leg(let record): set(item, for: .leg(record.push), of: record.call, entry)
        case .push(let record): set(item, for: .push(record.id), of: record.call, entry)
        case .absence(let record):
            set(item, for: .absence(record.call, record.role, record.lostAt), of: record.call, entry)
        case .device(let record): set(item, for: .device(record.key), of: nil, entry)
        case .deviceDropped(let key): set(item, for: .device(key), of: nil, entry)
        // All of them are written in order, because clearing missed calls and dropping candidates affect only earlier
        // records.
        case .missed, .missedCleared, .candidates, .candidatesDropped, .event:
            append(item, for: nil, to: newGroup(entry))
        case .group(let group): set(item, for: .group(Array(group.name.utf8)), of: nil, entry)
        case .groupDeleted(let name): set(item, for: .group(Array(name.utf8)), of: nil, entry)
        case .user(let record): set(item, for: .user(record.handle), of: nil, entry)
        case .rules(let record): set(item, for: .rules(record.handle), of: nil, entry)
        case .revocation(let record): set(item, for: .revocation(record.handle), of: nil, entry)
        case .alias(let alias): set(item, for: .alias(alias.handle), of: nil, entry)
        case .aliasDeleted(let handle): set(item, for: .alias(handle), of: nil, entry)
        }
    }

    package mutating func removeAll() {
        removeFirst(groups.count)
        // Clearing a large hash table takes time proportional to its capacity.
        guard calls.capacity + slots.capacity > Self.keptCapacity else { return }
        calls = [:]
        slots = [:]
    }

    private static let keptCapacity = 8192

    /// The number of first groups, and of the records in them.
    package struct Prefix {
        package var groups = 0
        package var records = 0

        package init() {}
    }

    /// Extends `prefix` by the groups that began with `entry` or earlier.
    package func extend(_ prefix: inout Prefix, through entry: Int64) {
        while prefix.groups < groups.count, groups[prefix.groups].entry <= entry {
            prefix.records += groups[prefix.groups].count
            prefix.groups += 1
        }
    }

    package func write(groups found: Int, with runner: some OperationSink) throws(StoreFailure) {
        for index in 0..<found {
            if let call = groups[index].call { try call.run(with: runner) }
            if let item = groups[index].descriptions { try item.run(with: runner) }
            for other in groups[index].others { try other.item.run(with: runner) }
        }
    }

    package func write(with runner: some OperationSink) throws(StoreFailure) {
        try write(groups: groups.count, with: runner)
    }

    package mutating func removeFirst(_ found: Int) {
        for _ in 0..<found {
            let group = groups.removeFirst()
            count -= group.count
            if let id = group.id { calls[id] = nil }
            for other in group.others { if let key = other.key { slots[key] = nil } }
        }
        removed += found
    }

    // MARK: Adding

    private mutating func newGroup(_ entry: Int64, of call: CallID? = nil) -> Int {
        groups.append(Group(entry: entry, id: call))
        return removed + groups.count - 1
    }

    private mutating func group(of call: CallID, _ entry: Int64) -> Int {
        if let group = calls[call] { return group }
        let group = newGroup(entry, of: call)
        calls[call] = group
        return group
    }

    private mutating func set(descriptions item: Item, of call: CallID, _ entry: Int64) {
        let index = group(of: call, entry) - removed
        if groups[index].set(descriptions: item) { count += 1 }
    }

    private mutating func set(_ item: Item, for key: Key, of call: CallID?, _ entry: Int64) {
        if let slot = slots[key] {
            groups[slot.group - removed].others[slot.other].item = item
        } else {
            append(item, for: key, to: call.map { group(of: $0, entry) } ?? newGroup(entry))
        }
    }

    private mutating func append(_ item: Item, for key: Key?, to group: Int) {
        if let key { slots[key] = (group, groups[group - removed].others.count) }
        groups[group - removed].others.append((key, item))
        count += 1
    }
}

@available(*, unavailable)
extension PendingRecords: Sendable {}
