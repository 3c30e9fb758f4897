import CallCore
import CallVocabulary
import ClientTokens
import WebSocketServer

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

    /// A valid token's grant, and the device it was presented for.
    struct Holder: Equatable {
        let grant: SessionGrant
        let device: DeviceID
        /// The key that signed the token; nil for a wake token.
        var signer: KeyFingerprint?

        var key: DeviceKey { DeviceKey(user: grant.user, device: device) }
    }

    /// A `session.open` that is not answered yet.
    struct Asked: Equatable {
        /// When it was read, or when the second half of the time for its answer began.
        var at: Instant
        var isSecondHalf = false
    }

    ///     unopened ──session.open──▶ checking ──valid token──▶ opening ──▶ open
    ///                                    ▲                        │
    ///                                    └── refused ◀────────────┘
    enum Phase: Equatable {
        case unopened
        /// The token is being checked. A token that is not valid closes the connection.
        case checking(Asked)
        /// The core handles the request.
        case opening(Asked, Holder)
        /// The core refused the session, or took no request. The client may ask again.
        case refused(Holder)
        case open(Holder)
    }

    let connectedAt: Instant
    private(set) var phase = Phase.unopened
    /// The user's key for limits, of the last valid token; nil before the first.
    private(set) var user: RateLimiter.Key?
    /// Whether a token could not be checked when it came. The client waits, and asks again.
    private(set) var wasPutOff = false
    /// The index of its last message in the current ``Delivery``.
    var lastMessage: Int?
    /// The rate limits of messages, and of refusals; nil until the first one. A session starts with full buckets.
    private var messages: Allowance?
    private var refusals: Allowance?

    init(now: Instant) {
        connectedAt = now
    }

    // MARK: The session

    /// The holder of the last valid token; nil before the first, and while another is being checked.
    var holder: Holder? {
        switch phase {
        case .unopened, .checking: nil
        case .opening(_, let holder), .refused(let holder), .open(let holder): holder
        }
    }

    /// The `session.open` that is not answered yet.
    var asked: Asked? {
        switch phase {
        case .checking(let asked), .opening(let asked, _): asked
        case .unopened, .refused, .open: nil
        }
    }

    /// The core takes other requests of the connection from then on only: an answer to one of them is never taken for the
    /// answer to `session.open`, whatever ids the client chooses.
    var isOpen: Bool { if case .open = phase { true } else { false } }

    /// Whether the core may know the connection, and must be told of its end. It stays so, also while another token is
    /// being checked.
    var isKnownToCore: Bool { user != nil }

    /// The call of a push's wake token.
    var wakeCall: CallID? { if case .call(let call) = holder?.grant.scope { call } else { nil } }

    /// A `session.open` was read, and its token is being checked.
    func check(at now: Instant) { phase = .checking(Asked(at: now)) }

    /// The token was not checked. The client may ask again.
    func forgetCheck() {
        if case .checking = phase { phase = .unopened }
    }

    /// The token cannot be checked at present. The client may ask again.
    func putOffCheck() {
        forgetCheck()
        wasPutOff = true
    }

    /// The token is valid, and the core gets the request.
    func handOver(_ holder: Holder) {
        guard case .checking(let asked) = phase else { return }
        phase = .opening(asked, holder)
        user = RateLimiter.Key(holder.grant.user)
    }

    /// The core takes no request at present.
    func putOff() {
        if case .opening(_, let holder) = phase { phase = .refused(holder) }
    }

    /// When to look for the answer to a `session.open` again; nil when it is overdue, or nothing was asked. The time has
    /// two halves; the second begins when the end of the first was seen. A process that was stopped meanwhile loses one
    /// of them at most: nothing worked on the answer.
    func answerDue(within time: Duration, at now: Instant) -> Instant? {
        guard var asked else { return nil }
        if asked.at + time / 2 <= now {
            if asked.isSecondHalf { return nil }
            asked.at = now
            asked.isSecondHalf = true
            phase = if case .opening(_, let holder) = phase { .opening(asked, holder) } else { .checking(asked) }
        }
        return asked.at + time / 2
    }

    /// Handles the core's answer to a `session.open`: the only answer that the core owes the connection until then.
    /// - Returns: nil for any other message.
    func note(_ message: ServerMessage) -> Answer? {
        guard case .opening(_, let holder) = phase else { return nil }
        switch message {
        case .reply(_, .opened(let opened)):
            phase = .open(holder)
            (messages, refusals) = (nil, nil)
            return .opened(opened)
        case .error(_?, let error):
            phase = .refused(holder)
            return .refused(error)
        case .welcome, .reply, .error, .event: return nil
        }
    }

    // MARK: Rate limits

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
