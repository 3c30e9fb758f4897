import CallVocabulary

/// Values by the ids of pushes, each in a slot of its own through which it is reached without being looked for again.
///
/// Ids are hashed by one multiplication; the standard hash would cost more than all else that is done with a push.
/// Nobody can choose ids that collide: they are drawn by the server from the system's generator, and no request has a
/// field for one. Inlinable, as every use is of another type.
@frozen public struct PushTable<Value> {
    /// Where a value is until it is removed; another one's after that.
    public typealias Slot = Int

    /// By slot, apart from each other, as one is looked through without the other.
    @usableFromInline var ids: [PushID] = []
    @usableFromInline var values: [Value] = []
    @usableFromInline let vacant: Value
    @usableFromInline var free: [Int] = []
    /// Open addressing with linear probing, at most half full: a slot, or -1. Their number is a power of two.
    @usableFromInline var buckets = [Int](repeating: -1, count: 16)
    @usableFromInline var shift: UInt64 = 60

    /// - Parameter vacant: what stands in a slot that is free.
    @inlinable public init(vacant: Value) {
        self.vacant = vacant
    }

    @inlinable public var count: Int { ids.count - free.count }

    /// Where the value for `id` is; nil when there is none.
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

    /// All values, and what stands in the slots that are free. Walks them.
    public var all: [Value] { values }

    /// The value in a slot that was given out. In place: a getter would copy all of it for one member.
    @inlinable public subscript(slot: Slot) -> Value {
        _read { yield values[slot] }
        _modify { yield &values[slot] }
    }

    /// Adds a value for an id that has none.
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
        // Those behind it move up, unless they would come to lie before their home.
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
