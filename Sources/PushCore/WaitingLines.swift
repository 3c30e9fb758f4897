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

    subscript(line: Line) -> Deque<Entry> {
        @inline(__always) _read {
            switch line {
            case .returned: yield returned
            case .calls: yield calls
            case .notices: yield notices
            }
        }
        @inline(__always) _modify {
            switch line {
            case .returned: yield &returned
            case .calls: yield &calls
            case .notices: yield &notices
            }
        }
    }

    /// - Returns: the ticket of the new entry.
    mutating func append(_ push: PushMachine.PushIndex, since: Instant, to line: Line) -> UInt64 {
        nextTicket += 1
        self[line].append(Entry(push: push, ticket: nextTicket, since: since))
        return nextTicket
    }

    /// Since when the longest waiting current entry waits.
    func oldest(_ isCurrent: (Entry) -> Bool) -> Instant? {
        var oldest: Instant?
        for line in Line.allCases {
            guard let since = self[line].first(where: isCurrent)?.since else { continue }
            oldest = oldest.map { min($0, since) } ?? since
        }
        return oldest
    }
}
