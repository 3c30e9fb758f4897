import CallVocabulary
import DequeModule

/// The queues in which pushes wait for a stream. Entries of pushes that have left are removed when they reach the
/// front.
struct WaitingLines: Sendable {
    enum Line: Sendable, CaseIterable {
        /// Calls queued again: they have waited before, and go first.
        case returned
        /// Calls, first in, first out.
        case calls
        /// Notices, new or queued again: announced when no call waits.
        case notices
    }

    struct Entry: Sendable {
        let push: PushMachine.PushIndex
        /// The push's current entry has this ticket; older entries are skipped. Tickets are unique, so entries of a
        /// reused slot are skipped too.
        let ticket: UInt64
        /// When it was queued.
        let since: Instant
    }

    private var returned = Deque<Entry>()
    private var calls = Deque<Entry>()
    private var notices = Deque<Entry>()
    private var nextTicket: UInt64 = 0

    func isEmpty(_ line: Line) -> Bool {
        switch line {
        case .returned: returned.isEmpty
        case .calls: calls.isEmpty
        case .notices: notices.isEmpty
        }
    }

    func count(_ line: Line) -> Int {
        switch line {
        case .returned: returned.count
        case .calls: calls.count
        case .notices: notices.count
        }
    }

    func first(of line: Line) -> Entry? {
        switch line {
        case .returned: returned.first
        case .calls: calls.first
        case .notices: notices.first
        }
    }

    func first(of line: Line, where isCurrent: (Entry) -> Bool) -> Entry? {
        switch line {
        case .returned: returned.first(where: isCurrent)
        case .calls: calls.first(where: isCurrent)
        case .notices: notices.first(where: isCurrent)
        }
    }

    mutating func removeFirst(of line: Line) {
        switch line {
        case .returned: returned.removeFirst()
        case .calls: calls.removeFirst()
        case .notices: notices.removeFirst()
        }
    }

    /// - Returns: the ticket of the new entry.
    mutating func append(_ push: PushMachine.PushIndex, since: Instant, to line: Line) -> UInt64 {
        nextTicket += 1
        append(Entry(push: push, ticket: nextTicket, since: since), to: line)
        return nextTicket
    }

    mutating func append(_ entry: Entry, to line: Line) {
        switch line {
        case .returned: returned.append(entry)
        case .calls: calls.append(entry)
        case .notices: notices.append(entry)
        }
    }

    /// Keeps the entries for which `isCurrent` is true, in order.
    mutating func filter(_ line: Line, _ isCurrent: (Entry) -> Bool) {
        switch line {
        case .returned: returned.removeAll { !isCurrent($0) }
        case .calls: calls.removeAll { !isCurrent($0) }
        case .notices: notices.removeAll { !isCurrent($0) }
        }
    }

    /// Since when the longest waiting current entry waits.
    func oldest(_ isCurrent: (Entry) -> Bool) -> Instant? {
        var oldest: Instant?
        for line in Line.allCases {
            guard let since = first(of: line, where: isCurrent)?.since else { continue }
            oldest = oldest.map { min($0, since) } ?? since
        }
        return oldest
    }
}
