import CallCore
import CallVocabulary

/// The rate limits of one connection.
public struct ConnectionLimits: Equatable, Sendable {
    /// How long a client may take to open a session.
    public var openWithin = Duration.seconds(10)
    /// The sustained rate of messages per second.
    public var messagesPerSecond = 100.0
    /// The most messages in one burst.
    public var burst = 400.0
    /// Refusals within ``refusalSpan`` after which a client that ignores the limits is disconnected.
    public var refusalsUntilAbuse = 1_000

    public init() {}

    /// The time in which all refusals are forgotten, at a constant rate.
    static let refusalSpan = Duration.seconds(60)

    /// The limits until a session is open: enough to open one, even after a few refusals.
    var beforeSession: ConnectionLimits {
        var limits = self
        limits.messagesPerSecond = min(messagesPerSecond, 2)
        limits.burst = min(burst, 20)
        limits.refusalsUntilAbuse = min(refusalsUntilAbuse, 20)
        return limits
    }
}

/// A token bucket: consumed by events, refilled at a constant rate.
private struct Allowance {
    private var left: Double
    private var refilledAt: Instant

    init(now: Instant, capacity: Double) {
        left = capacity
        refilledAt = now
    }

    /// Takes one from the bucket.
    /// - Returns: nil when one was taken; otherwise the time until one is available.
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

/// A shard's state of a connection: its token and its rate limits.
final class ConnectionState {
    enum Verdict: Equatable {
        case admitted
        case refused(retryAfter: Duration)
        case abuse
    }

    /// The core's answer to a `session.open`.
    enum Answer {
        case opened(SessionOpened)
        case refused(SignalError)
    }

    let connectedAt: Instant
    /// The `session.open` whose token is being checked, or that the core is handling.
    var opening: RequestID?
    /// When the latest `session.open` was read.
    var askedAt: Instant?
    /// The grant of the valid token. The core may still refuse a session.
    var token: SessionGrant?
    /// The device for which ``token`` was presented.
    var device: DeviceID?
    /// Whether the core has opened a session on this connection, with ``token``.
    private(set) var isOpen = false {
        didSet { if isOpen, !oldValue { (messages, refusals) = (nil, nil) } }
    }
    /// The index of its last message in the current ``Delivery``.
    var lastMessage: Int?
    /// The rate limits of messages, and of refusals; nil until the first one. A session starts with full buckets.
    private var messages: Allowance?
    private var refusals: Allowance?

    init(now: Instant) {
        connectedAt = now
    }

    var hasToken: Bool { token != nil }

    /// The device whose session is open, or being opened.
    var key: DeviceKey? {
        guard let token, let device else { return nil }
        return DeviceKey(user: token.user, device: device)
    }

    /// The call of a push's wake token.
    var wakeCall: CallID? { if case .call(let call) = token?.scope { call } else { nil } }

    /// Handles the core's answer to ``opening``.
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

    /// Counts one frame of the client, whatever its content.
    func admit(now: Instant, limits all: ConnectionLimits) -> Verdict {
        let limits = isOpen ? all : all.beforeSession
        var messages = messages ?? Allowance(now: now, capacity: limits.burst)
        defer { self.messages = messages }
        let wait = messages.take(now: now, perSecond: limits.messagesPerSecond, capacity: limits.burst)
        guard let wait else { return .admitted }
        // An admitted message does not reset the count: even a flooding client has one admitted now and then.
        let most = Double(limits.refusalsUntilAbuse)
        var refusals = refusals ?? Allowance(now: now, capacity: most)
        defer { self.refusals = refusals }
        let perSecond = most / Double(ConnectionLimits.refusalSpan.wholeMilliseconds) * 1000
        return refusals.take(now: now, perSecond: perSecond, capacity: most) == nil
            ? .refused(retryAfter: wait) : .abuse
    }
}
