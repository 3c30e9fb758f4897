import CallVocabulary
import DequeModule

/// Ended calls in the order in which they leave memory.
///
/// Most calls in memory are such, and each stays as long: they wait in line, so that what falls due of live calls is
/// found among few.
struct Tombstones {
    private struct Entry {
        let call: Call
        let until: Instant
    }

    private var entries: Deque<Entry> = []

    var count: Int { entries.count }
    /// When the first is to go.
    var next: Instant? { entries.first?.until }

    /// - Returns: false for a call that would have to go before one that is in line already.
    mutating func add(_ call: Call, until: Instant) -> Bool {
        if let last = entries.last, last.until > until { return false }
        entries.append(Entry(call: call, until: until))
        return true
    }

    /// Takes the first out, if it is to go by `now`.
    mutating func popDue(now: Instant) -> Call? {
        guard let first = entries.first, first.until <= now else { return nil }
        entries.removeFirst()
        return first.call
    }

    /// Takes the first out, with the time by which it was to go.
    mutating func popFirst() -> (call: Call, until: Instant)? {
        entries.popFirst().map { ($0.call, $0.until) }
    }
}
