/// The live calls in the order of their last changes.
///
/// Whoever has seen all changes up to one is missing those behind it, each call once however often it has changed: that
/// is how changes come to subscribers, and how many wait for a slow one is bounded by the number of live calls.
struct ChangeLog {
    private struct Entry {
        let number: UInt64
        let call: LiveCall
    }

    /// In ascending order. One counts while its call has not changed since.
    private var entries: [Entry] = []
    /// Of the last change, of whatever kind.
    private(set) var last: UInt64 = 0

    /// Counts a change that leaves no call behind: an end.
    mutating func count() -> UInt64 {
        last += 1
        return last
    }

    /// - Parameter live: how many calls there are.
    mutating func add(_ call: LiveCall, live: Int) {
        call.changed = count()
        entries.append(Entry(number: last, call: call))
        // At most as many entries as calls are of use, so that this is done once in so many changes.
        guard entries.count > 2 * live + 64 else { return }
        entries.removeAll { $0.call.changed != $0.number }
    }

    /// Goes through the calls changed after a change, for as long as `body` says true.
    func each(after number: UInt64, _ body: (UInt64, LiveCall?) -> Bool) {
        var place = entries.firstPlace { $0.number > number }
        while place < entries.count {
            let entry = entries[place]
            guard body(entry.number, entry.call.changed == entry.number ? entry.call : nil) else { return }
            place += 1
        }
    }

    /// Whether there is anything after the change.
    func hasMore(after number: UInt64) -> Bool { (entries.last?.number ?? 0) > number }

    /// Forgets all calls. Numbers go on.
    mutating func removeAll() { entries = [] }
}
