import CallVocabulary

/// A hash table from push ids to values, each in a stable slot that is accessed without hashing.
///
/// Ids are hashed by one multiplication: the standard hash would cost more than all other work for a push. No client
/// can choose colliding ids, because the server draws them from the system's generator. Inlinable, because each user
/// stores another type.
@frozen public struct PushTable<Value> {
    /// The index of a value until it is removed; reused after that.
    public typealias Slot = Int

    /// Ids and values by slot, in separate arrays because ids are searched alone.
    @usableFromInline var ids: [PushID] = []
    @usableFromInline var values: [Value] = []
    @usableFromInline let vacant: Value
    @usableFromInline var free: [Int] = []
    /// Open addressing with linear probing, at most half full. Each bucket holds a slot, or -1; their number is a power
    /// of two.
    @usableFromInline var buckets = [Int](repeating: -1, count: 16)
    @usableFromInline var shift: UInt64 = 60

    /// - Parameter vacant: the value of free slots.
    @inlinable public init(vacant: Value) {
        self.vacant = vacant
    }

    @inlinable public var count: Int { ids.count - free.count }

    /// The slot of `id`; nil when it has none.
    @inlinable public func slot(of id: PushID) -> Slot? {
        var bucket = home(of: id)
        while true {
            let slot = buckets[bucket]
            if slot < 0 { return nil }
            if ids[slot] == id { return slot }
            bucket = (bucket + 1) & (buckets.count - 1)
        }
    }

    @inlinable public func id(at slot: Slot) -> PushID { ids[slot] }

    /// The values of all slots, including the vacant value of free ones. O(n).
    public var all: [Value] { values }

    /// The value in an occupied slot. Accessed in place: a getter would copy the whole value for one member.
    @inlinable public subscript(slot: Slot) -> Value {
        _read { yield values[slot] }
        _modify { yield &values[slot] }
    }

    /// Adds a value for an id that is not in the table.
    @discardableResult
    @inlinable public mutating func insert(_ value: Value, for id: PushID) -> Slot {
        if 2 * (count + 1) > buckets.count { grow() }
        let slot: Slot
        if let reused = free.popLast() {
            slot = reused
            ids[slot] = id
            values[slot] = value
        } else {
            slot = ids.count
            ids.append(id)
            values.append(value)
        }
        place(slot, id)
        return slot
    }

    @inlinable public mutating func remove(_ slot: Slot) {
        var hole = home(of: ids[slot])
        while buckets[hole] != slot { hole = (hole + 1) & (buckets.count - 1) }
        // Entries behind it move up, unless that would put them before their home bucket.
        var next = (hole + 1) & (buckets.count - 1)
        while buckets[next] >= 0 {
            let distance = (next &- home(of: ids[buckets[next]])) & (buckets.count - 1)
            if distance >= (next &- hole) & (buckets.count - 1) {
                buckets[hole] = buckets[next]
                hole = next
            }
            next = (next + 1) & (buckets.count - 1)
        }
        buckets[hole] = -1
        values[slot] = vacant
        free.append(slot)
    }

    @inlinable func home(of id: PushID) -> Int {
        Int(truncatingIfNeeded: ((id.high ^ id.low) &* 0x9E37_79B9_7F4A_7C15) &>> shift)
    }

    @inlinable mutating func place(_ slot: Slot, _ id: PushID) {
        var bucket = home(of: id)
        while buckets[bucket] >= 0 { bucket = (bucket + 1) & (buckets.count - 1) }
        buckets[bucket] = slot
    }

    @inlinable mutating func grow() {
        let slots = buckets
        buckets = [Int](repeating: -1, count: 2 * slots.count)
        shift -= 1
        for slot in slots where slot >= 0 { place(slot, ids[slot]) }
    }
}

extension PushTable: Sendable where Value: Sendable {}
