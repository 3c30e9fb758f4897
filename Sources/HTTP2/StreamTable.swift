import DequeModule

/// The streams of one session in ascending order of id: lookups need no hashing. The oldest streams mostly end first,
/// so a removal moves few entries.
struct StreamTable<Value> {
    private struct Entry {
        let id: Int32
        var value: Value
    }

    private var entries = Deque<Entry>()

    var count: Int { entries.count }

    subscript(id: Int32) -> Value? {
        let index = position(of: id)
        return index < entries.count && entries[index].id == id ? entries[index].value : nil
    }

    /// Adds or replaces the value of a stream.
    mutating func set(_ id: Int32, _ value: Value) {
        let index = position(of: id)
        if index < entries.count, entries[index].id == id {
            entries[index].value = value
        } else {
            entries.insert(Entry(id: id, value: value), at: index)
        }
    }

    /// - Returns: nil for an unknown stream, else the result of `change`.
    mutating func update<Result>(_ id: Int32, _ change: (inout Value) -> Result) -> Result? {
        let index = position(of: id)
        guard index < entries.count, entries[index].id == id else { return nil }
        return change(&entries[index].value)
    }

    /// - Returns: whether the stream existed.
    mutating func remove(_ id: Int32) -> Bool {
        let index = position(of: id)
        guard index < entries.count, entries[index].id == id else { return false }
        if index == 0 { entries.removeFirst() } else { entries.remove(at: index) }
        return true
    }

    /// The index of the first stream whose id is at least `id`.
    private func position(of id: Int32) -> Int {
        guard let last = entries.last, last.id >= id else { return entries.count }
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
