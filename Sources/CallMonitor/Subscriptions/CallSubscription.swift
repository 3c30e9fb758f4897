import AdminProtocol
import CallVocabulary

/// Identifies a subscription: its connection, and its number there.
public struct SubscriptionKey: Hashable, Comparable, Sendable {
    public let connection: UInt64
    public let number: Int

    public init(connection: UInt64, number: Int) {
        self.connection = connection
        self.number = number
    }

    public static func < (a: Self, b: Self) -> Bool {
        (a.connection, a.number) < (b.connection, b.number)
    }
}

/// The progress of one call subscriber.
struct CallSubscription {
    let user: Handle?
    let interval: Duration
    /// All live calls whose last change is up to this number are delivered.
    var toldChanges: UInt64 = 0
    /// All ends up to this number are delivered.
    var toldEndings: UInt64
    /// The initial state is delivered completely.
    var isComplete = false
    /// The state is sent anew, and the next frame announces it.
    var isReset = false
    /// The earliest time of the next update once the initial state is complete.
    var nextAt: Instant

    /// - Parameter number: the number of the last change.
    init(user: Handle?, interval: Duration, number: UInt64, now: Instant) {
        self.user = user
        self.interval = interval
        toldEndings = number
        nextAt = now
    }

    mutating func beginAnew(at number: UInt64) {
        toldChanges = 0
        toldEndings = number
        isComplete = false
        isReset = true
    }
}

/// The result of one step of a subscription.
public enum SubscriptionStep: Equatable, Sendable {
    /// No updates now.
    case idle
    /// No updates among the examined entries; more entries remain.
    case more
    case notification(CallsChanged)
}
