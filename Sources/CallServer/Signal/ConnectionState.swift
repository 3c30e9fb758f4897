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
    /// Refusals in a row after which the client does not listen and is sent away.
    public var refusalsUntilAbuse = 1_000

    public init() {}
}

/// What a shard keeps with a connection: whose token it showed, and how much it may still say.
final class ConnectionState {
    enum Verdict: Equatable {
        case admitted
        case refused(retryAfter: Duration)
        case abuse
    }

    /// The `session.open` that the token check or the core is at work on.
    var opening: RequestID?
    /// Whose token was good. The core may still refuse it a session.
    var token: SessionGrant?
    /// The core has opened a session here, with ``token``.
    private(set) var isOpen = false
    /// Its place in the delivery under way, for ``Delivery``.
    var lastMessage: Int?
    private var allowance: Double
    private var refilledAt: Instant
    private var refused = 0

    init(now: Instant, limits: ConnectionLimits) {
        refilledAt = now
        allowance = limits.burst
    }

    var hasToken: Bool { token != nil }

    /// Takes note of the core's answer to ``opening``.
    func note(_ message: ServerMessage) {
        switch message {
        case .reply(let request, .opened) where request == opening:
            isOpen = true
            opening = nil
        case .error(let request?, _) where request == opening: opening = nil
        case .welcome, .reply, .error, .event: break
        }
    }

    /// Counts one message against the allowance.
    func admit(now: Instant, limits: ConnectionLimits) -> Verdict {
        let elapsed = Double((now - refilledAt).wholeMilliseconds) / 1000
        allowance = min(limits.burst, allowance + elapsed * limits.messagesPerSecond)
        refilledAt = now
        if allowance >= 1 {
            allowance -= 1
            refused = 0
            return .admitted
        }
        refused += 1
        guard refused < limits.refusalsUntilAbuse else { return .abuse }
        return .refused(
            retryAfter: .milliseconds(Int64(((1 - allowance) / limits.messagesPerSecond * 1000).rounded(.up))))
    }
}
