import CallCore
import CallVocabulary

/// What one connection may ask of the server.
public struct ConnectionLimits: Equatable, Sendable {
    /// How long a client may take to open a session.
    public var openWithin = Duration.seconds(10)
    /// Messages a second in the long run.
    public var messagesPerSecond = 100.0
    /// Messages in one burst.
    public var burst = 400.0
    /// Refusals within ``refusalSpan`` after which the client does not listen and is sent away.
    public var refusalsUntilAbuse = 1_000

    public init() {}

    /// The time in which all refusals are forgotten, evenly.
    static let refusalSpan = Duration.seconds(60)

    /// What holds until a session is open: enough to open one, also when it is refused now and then.
    var beforeSession: ConnectionLimits {
        var limits = self
        limits.messagesPerSecond = min(messagesPerSecond, 2)
        limits.burst = min(burst, 20)
        limits.refusalsUntilAbuse = min(refusalsUntilAbuse, 20)
        return limits
    }
}

/// An allowance that is used up and refilled evenly.
private struct Allowance {
    private var left: Double
    private var refilledAt: Instant

    init(now: Instant, capacity: Double) {
        left = capacity
        refilledAt = now
    }

    /// - Returns: how long until there is one again, or nil when one was taken.
    mutating func take(now: Instant, perSecond: Double, capacity: Double) -> Duration? {
        let elapsed = max(0, Double((now - refilledAt).wholeMilliseconds) / 1000)
        left = min(capacity, left + elapsed * perSecond)
        refilledAt = now
        guard left < 1 else {
            left -= 1
            return nil
        }
        return .milliseconds(Int64(((1 - left) / perSecond * 1000).rounded(.up)))
    }
}

/// What a shard keeps with a connection: whose token it showed, and how much it may still say.
final class ConnectionState {
    enum Verdict: Equatable {
        case admitted
        case refused(retryAfter: Duration)
        case abuse
    }

    /// What came of a `session.open` that the core has answered.
    enum Answer {
        case opened(SessionOpened)
        case refused(SignalError)
    }

    let connectedAt: Instant
    /// The `session.open` that the token check or the core is at work on.
    var opening: RequestID?
    /// When the newest `session.open` was read.
    var askedAt: Instant?
    /// Whose token was good. The core may still refuse it a session.
    var token: SessionGrant?
    /// The device that ``token`` was shown for.
    var device: DeviceID?
    /// The core has opened a session here, with ``token``.
    private(set) var isOpen = false {
        didSet { if isOpen, !oldValue { (messages, refusals) = (nil, nil) } }
    }
    /// Its place in the delivery under way, for ``Delivery``.
    var lastMessage: Int?
    /// Of messages, and of refusals; nil until the first. A session begins with all that it may have.
    private var messages: Allowance?
    private var refusals: Allowance?

    init(now: Instant) {
        connectedAt = now
    }

    var hasToken: Bool { token != nil }

    /// Whose session is open, or being opened.
    var key: DeviceKey? {
        guard let token, let device else { return nil }
        return DeviceKey(user: token.user, device: device)
    }

    /// The call of a push's wake token.
    var wakeCall: CallID? { if case .call(let call) = token?.scope { call } else { nil } }

    /// Takes note of the core's answer to ``opening``.
    /// - Returns: nil for any other message.
    func note(_ message: ServerMessage) -> Answer? {
        switch message {
        case .reply(let request, .opened(let opened)) where request == opening:
            isOpen = true
            opening = nil
            return .opened(opened)
        case .error(let request?, let error) where request == opening:
            opening = nil
            return .refused(error)
        case .welcome, .reply, .error, .event: return nil
        }
    }

    /// Counts one frame of the client, whatever is in it.
    func admit(now: Instant, limits all: ConnectionLimits) -> Verdict {
        let limits = isOpen ? all : all.beforeSession
        var messages = messages ?? Allowance(now: now, capacity: limits.burst)
        defer { self.messages = messages }
        let wait = messages.take(now: now, perSecond: limits.messagesPerSecond, capacity: limits.burst)
        guard let wait else { return .admitted }
        // An admitted message in between forgives nothing: who sends on and on has one admitted now and then.
        let most = Double(limits.refusalsUntilAbuse)
        var refusals = refusals ?? Allowance(now: now, capacity: most)
        defer { self.refusals = refusals }
        let perSecond = most / Double(ConnectionLimits.refusalSpan.wholeMilliseconds) * 1000
        return refusals.take(now: now, perSecond: perSecond, capacity: most) == nil
            ? .refused(retryAfter: wait) : .abuse
    }
}
