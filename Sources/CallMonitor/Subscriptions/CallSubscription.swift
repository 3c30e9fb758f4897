import AdminProtocol
import CallVocabulary

/// Names a subscription: the connection it came on, and its number there.
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

/// How far somebody who watches calls has been told.
struct CallSubscription {
    let user: Handle?
    let interval: Duration
    /// Of the live calls, all whose last change is up to this.
    var toldChanges: UInt64 = 0
    /// All that ended up to this.
    var toldEndings: UInt64
    /// The first picture has been told as a whole.
    var isComplete = false
    /// It begins anew, and is to be told so.
    var isReset = false
    /// Not before that is more told, once it is complete.
    var nextAt: Instant

    /// - Parameter number: of the last change there was.
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

/// What there is to tell a subscriber.
public enum SubscriptionStep: Equatable, Sendable {
    /// Nothing now.
    case idle
    /// Nothing in what was looked at; there is more to look at.
    case more
    case notification(CallsChanged)
}
