import CallVocabulary
import StoreInterface

/// The cutoffs and the progress of one pass over a store.
package struct RetentionRun {
    /// A position in an order by time; valid even after its row is deleted.
    package struct Position {
        var at: Instant
        var serial: Int64

        static let start = Position(at: Instant(milliseconds: .min), serial: .min)
    }

    package enum Step {
        case calls(after: Position)
        case pushes(after: Position)
        /// User by user, in order.
        case missed(after: String?)
        case events
        case done
    }

    /// Deletes calls that ended before this; nil deletes none.
    package let callsBefore: Instant?
    /// Deletes pushes intended before this.
    package let pushesBefore: Instant?
    /// Deletes missed calls from before this.
    package let missedBefore: Instant?
    /// Deletes events from before this.
    package let eventsBefore: Instant
    /// Calls that ended later may still be in the server's memory.
    package let memoryBegins: Instant
    /// The most missed calls kept for one user.
    package let missedPerUser: Int
    package var step = Step.calls(after: .start)

    package init(_ policy: RetentionPolicy, now: Instant) {
        func begin(_ age: Duration?) -> Instant? { age.map { now + (.zero - max($0, RetentionPolicy.shortestAge)) } }
        let calls = begin(policy.calls)
        /// Dependent rows are deleted with their calls at the latest.
        func orWithCalls(_ age: Duration?) -> Instant? {
            let own = begin(age)
            guard let own, let calls else { return own ?? calls }
            return max(own, calls)
        }
        callsBefore = calls
        pushesBefore = orWithCalls(policy.pushes)
        missedBefore = orWithCalls(policy.missed)
        eventsBefore = now + (.zero - max(policy.events, RetentionPolicy.shortestAge))
        missedPerUser = max(1, policy.missedPerUser)
        memoryBegins = now + (.zero - RetentionPolicy.shortestAge)
    }

    package var isDone: Bool { if case .done = step { true } else { false } }
}
