import CallVocabulary
import StoreInterface

/// One pass over a store: what it lets go, and how far it has come.
struct RetentionRun {
    /// A row in an order by time. Of one that is deleted the next is found all the same.
    struct Position {
        var at: Instant
        var serial: Int64

        static let start = Position(at: Instant(milliseconds: .min), serial: .min)
    }

    enum Step {
        case calls(after: Position)
        case pushes(after: Position)
        /// User by user, in their order.
        case missed(after: String?)
        case done
    }

    /// Calls that ended before this; nil lets none go.
    let callsBefore: Instant?
    /// Pushes that were intended before this.
    let pushesBefore: Instant?
    /// Missed calls from before this.
    let missedBefore: Instant?
    /// What ended later may still be in the memory of a server.
    let memoryBegins: Instant
    /// Of one user, the newest.
    let missedPerUser: Int
    var step = Step.calls(after: .start)

    init(_ policy: RetentionPolicy, now: Instant) {
        func begin(_ age: Duration?) -> Instant? { age.map { now + (.zero - max($0, RetentionPolicy.shortestAge)) } }
        let calls = begin(policy.calls)
        /// What belongs to calls goes with them at the latest.
        func orWithCalls(_ age: Duration?) -> Instant? {
            let own = begin(age)
            guard let own, let calls else { return own ?? calls }
            return max(own, calls)
        }
        callsBefore = calls
        pushesBefore = orWithCalls(policy.pushes)
        missedBefore = orWithCalls(policy.missed)
        missedPerUser = max(1, policy.missedPerUser)
        memoryBegins = now + (.zero - RetentionPolicy.shortestAge)
    }

    var isDone: Bool { if case .done = step { true } else { false } }
}
