/// The live calls in the order of their last changes.
///
/// A subscriber that has all changes up to a number needs the later entries: each changed call once. So the backlog of
/// a slow subscriber is bounded by the number of live calls.
struct ChangeLog {
    private struct Entry {
        let number: UInt64
        let call: LiveCall
    }

    /// In ascending order. An entry is valid until its call changes again.
    private var entries: [Entry] = []
    /// The number of the last change of any kind.
    private(set) var last: UInt64 = 0

    /// Numbers a change without a live call: an end.
    mutating func count() -> UInt64 {
        last += 1
        return last
    }

    /// - Parameter live: the number of live calls.
    mutating func add(_ call: LiveCall, live: Int) {
        call.changed = count()
        entries.append(Entry(number: last, call: call))
        // At most one entry for each live call is valid, so compaction is rare.
        guard entries.count > 2 * live + 64 else { return }
        entries.removeAll { $0.call.changed != $0.number }
    }

    /// Iterates over the calls changed after a number while `body` returns true.
    func each(after number: UInt64, _ body: (UInt64, LiveCall?) -> Bool) {
        var place = entries.firstPlace { $0.number > number }
        while place < entries.count {
            let entry = entries[place]
            guard body(entry.number, entry.call.changed == entry.number ? entry.call : nil) else { return }
            place += 1
        }
    }

    /// Whether there are changes after the number.
    func hasMore(after number: UInt64) -> Bool { (entries.last?.number ?? 0) > number }

    /// Removes all calls. Numbering continues.
    mutating func removeAll() { entries = [] }
}
