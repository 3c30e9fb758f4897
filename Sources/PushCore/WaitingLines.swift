import CallVocabulary
import DequeModule

/// The lines in which pushes wait for a stream. Entries of pushes that left early stay until they are come upon.
struct WaitingLines: Sendable {
    enum Line: Sendable, CaseIterable {
        /// Calls that came back: they have waited before, and go first.
        case returned
        /// First come, first served.
        case calls
        /// What nobody's phone rings for, returned or not: goes when no call waits for a stream.
        case notices
    }

    struct Entry: Sendable {
        let push: PushMachine.PushIndex
        /// Which of its push's entries is the current one; older ones are skipped, and so are those of a push whose
        /// place in the table is another's now: no two entries have the same ticket.
        let ticket: UInt64
        /// When it joined the line.
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

    /// - Returns: the ticket by which the new entry is the push's current one.
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

    /// Keeps what `isCurrent` says, in order.
    mutating func filter(_ line: Line, _ isCurrent: (Entry) -> Bool) {
        switch line {
        case .returned: returned.removeAll { !isCurrent($0) }
        case .calls: calls.removeAll { !isCurrent($0) }
        case .notices: notices.removeAll { !isCurrent($0) }
        }
    }

    /// Since when the current entry waits that waits longest.
    func oldest(_ isCurrent: (Entry) -> Bool) -> Instant? {
        var oldest: Instant?
        for line in Line.allCases {
            guard let since = first(of: line, where: isCurrent)?.since else { continue }
            oldest = oldest.map { min($0, since) } ?? since
        }
        return oldest
    }
}
