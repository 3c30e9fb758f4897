import CallVocabulary

/// Values by push id, each in a stable slot that is accessed without hashing.
struct PushTable<Value: Sendable>: Sendable {
    /// The index of a value until it is removed; reused after that.
    typealias Slot = Int

    private var slots: [PushID: Slot] = [:]
    private var ids: [PushID] = []
    private var values: [Value] = []
    private let vacant: Value
    private var free: [Slot] = []

    /// - Parameter vacant: the value of free slots.
    init(vacant: Value) {
        self.vacant = vacant
    }

    /// The slot of `id`; nil when it has none.
    func slot(of id: PushID) -> Slot? { slots[id] }

    func id(at slot: Slot) -> PushID { ids[slot] }

    /// The value in an occupied slot. Accessed in place: a getter would copy the whole value for one member.
    subscript(slot: Slot) -> Value {
        _read { yield values[slot] }
        _modify { yield &values[slot] }
    }

    /// Adds a value for an id that is not in the table.
    mutating func insert(_ value: Value, for id: PushID) -> Slot {
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
        slots[id] = slot
        return slot
    }

    mutating func remove(_ slot: Slot) {
        slots[ids[slot]] = nil
        values[slot] = vacant
        free.append(slot)
    }
}
