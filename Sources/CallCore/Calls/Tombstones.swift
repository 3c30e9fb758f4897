import CallVocabulary
import DequeModule

/// Ended calls in the order in which they leave memory.
///
/// Most calls in memory have ended, and each stays equally long. A queue for them keeps the heap of live calls'
/// deadlines small.
struct Tombstones {
    private struct Entry {
        let call: Call
        let until: Instant
    }

    private var entries: Deque<Entry> = []

    var count: Int { entries.count }
    /// When the first call leaves.
    var next: Instant? { entries.first?.until }

    /// - Returns: false when the call would have to leave before one that is already queued.
    mutating func add(_ call: Call, until: Instant) -> Bool {
        if let last = entries.last, last.until > until { return false }
        entries.append(Entry(call: call, until: until))
        return true
    }

    /// Removes the first call if it leaves by `now`.
    mutating func popDue(now: Instant) -> Call? {
        guard let first = entries.first, first.until <= now else { return nil }
        entries.removeFirst()
        return first.call
    }

    /// Removes the first call, and returns the time at which it was to leave.
    mutating func popFirst() -> (call: Call, until: Instant)? {
        entries.popFirst().map { ($0.call, $0.until) }
    }
}
