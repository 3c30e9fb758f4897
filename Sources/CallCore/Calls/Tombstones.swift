import CallVocabulary
import DequeModule

/// Ended calls in the order in which they leave memory.
///
/// Most calls in memory have ended, and each stays equally long. A queue for them keeps the heap of live calls'
/// deadlines small. It holds their ids: a call that leaves before its turn leaves nothing else behind.
struct Tombstones {
    private struct Entry {
        let call: CallID
        let until: Instant
    }

    /// Contains entries of calls that were taken before their turn.
    private var entries: Deque<Entry> = []
    /// The calls that were not taken yet.
    private(set) var count = 0

    /// When the first call leaves, or would have left.
    var next: Instant? { entries.first?.until }

    /// - Returns: false when the call would have to leave before one that is already queued.
    mutating func add(_ call: CallID, until: Instant) -> Bool {
        if let last = entries.last, last.until > until { return false }
        entries.append(Entry(call: call, until: until))
        count += 1
        return true
    }

    /// A call was taken, in its turn or before it.
    mutating func noteTaken() { count -= 1 }

    /// Removes the first entry if it leaves by `now`.
    mutating func popDue(now: Instant) -> CallID? {
        guard let first = entries.first, first.until <= now else { return nil }
        return entries.removeFirst().call
    }

    /// Removes the first entry.
    mutating func popFirst() -> CallID? { entries.popFirst()?.call }
}
