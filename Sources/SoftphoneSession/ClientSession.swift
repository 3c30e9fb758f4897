import CallVocabulary
import Determinism

/// The client's side of a session, without I/O: what happened goes in, what is to be done comes out.
///
/// ```
///            started / push           token            socket            welcome          opened
///  idle ──────────────────▶ authorizing ──▶ connecting ──▶ welcoming ──▶ opening ──▶ open
///   ▲                        ▲    │              │             │            │          │ stopped
///   │                    due │    └──────────────┴─────────────┴────────────┴──────────┤
///   │ stopped                └── waiting ◀── lost, timed out, refused for now ─────────┤
///   │                                                                                   ▼
///   └────────── closing ◀──────────────────────────────────────────────────── (session.close sent)
///
///  gone ◀── closed with 3500 and above, or refused for good
///  open, limited to one call ──▶ connecting   once the app has a token of its own (see Grant)
/// ```
///
/// A value without a clock: `now` is the time since any fixed origin, never going back, and the caller comes back
/// with ``handleTimeouts(now:effects:)`` when ``nextDeadline`` is reached. The same inputs, times and seed give the
/// same effects.
public struct ClientSession: Sendable {
    /// Where the connection stands.
    enum Connection: Equatable, Sendable {
        case idle
        case authorizing(deadline: Duration)
        case connecting(token: String, deadline: Duration)
        case welcoming(token: String, deadline: Duration)
        case opening(request: Int64, deadline: Duration)
        case open(since: Duration)
        case waiting(until: Duration)
        case closing(request: Int64, ticket: CommandTicket?, deadline: Duration)
        case gone(GoneReason)
    }

    /// A `stopped` that lets what is still to be said go out first.
    struct Leaving: Equatable, Sendable {
        let ticket: CommandTicket?
        let deadline: Duration
    }

    /// Somebody who waits for a session to open.
    struct Waiter: Equatable, Sendable {
        let ticket: CommandTicket
        let deadline: Duration?
    }

    public let configuration: Configuration
    var connection = Connection.idle
    /// Why the last attempt failed.
    var lastFailure: String?
    /// The longest message that the server takes, in bytes; known from its welcome.
    public internal(set) var maxFrameBytes = 64 * 1024
    /// Names the connection at hand; counts up whenever one is given up.
    public internal(set) var attempt: UInt64 = 0
    var backoff: ReconnectBackoff
    var random: SeededGenerator
    var waiters: [Waiter] = []
    var leaving: Leaving?
    /// Since when no session is open; nil while one is, and before the first.
    var offlineSince: Duration?

    /// What the token of the connection at hand opens.
    var grant = Grant.full
    /// When the app is asked for a token of its own again, while a push's has to do.
    var upgradeDue: Duration?
    var tokenBackoff: ReconnectBackoff
    /// The token of a push for a call that is over.
    var lateWake: (call: CallID, token: String)?

    /// The session that can be resumed.
    var resumable: Resumable?
    /// The last event that was handled, and the last one said to be.
    var lastSeq: UInt64 = 0
    var ackedSeq: UInt64 = 0
    var ackDue: Duration?

    /// Commands that wait to be sent or answered, oldest first.
    var outbox: [OutboxItem] = []
    var nextRequest: Int64 = 1
    /// The newest request that was answered over the connection at hand.
    var lastAnswered: Int64 = 0

    var calls: [CallEntry] = []
    /// Calls that are over, newest last: what still comes for one of them changes nothing.
    var ended: [EndedCall] = []

    /// What to add to `now` to get the server's clock, in milliseconds.
    var serverClockOffset: Int64?
    var lastHeard: Duration = .zero
    /// How long the server may be silent before it is asked; known from its welcome.
    var silenceLimit: Duration?
    /// To be said with the next `session.open`; nil once the server has them.
    var pushTokens: [PushToken]?
    /// The tokens as the app gave them last; nil if it never did.
    var latestTokens: [PushToken]?
    var appState = AppState.foreground

    /// What makes a session go on over a new connection.
    struct Resumable: Equatable, Sendable {
        let session: SessionID
        @Secret private(set) var token: String
        let opened: SessionOpened
    }

    public init(configuration: Configuration, seed: UInt64) {
        self.configuration = configuration
        backoff = ReconnectBackoff(base: configuration.backoffBase, ceiling: configuration.backoffCeiling)
        tokenBackoff = backoff
        random = SeededGenerator(seed: seed)
        pushTokens = configuration.push
        latestTokens = configuration.push
    }

    /// Whether a session is open now.
    public var isOpen: Bool {
        if case .open = connection { true } else { false }
    }

    /// The live calls this phone knows, oldest first.
    public var liveCalls: [PhoneCall] { calls.map(\.call) }

    /// The server's clock at `now`, to within the time the welcome took; nil before the first welcome.
    public func serverTime(at now: Duration) -> Instant? {
        serverClockOffset.map { Instant(milliseconds: now.wholeMilliseconds + $0) }
    }

    /// The last event handled.
    public var lastHandledSeq: UInt64 { lastSeq }

    // MARK: Inputs

    /// Takes in what happened, and appends what is to be done about it.
    public mutating func handle(_ input: SessionInput, now: Duration, effects: inout [SessionEffect]) {
        switch input {
        case .started(let ticket, let limit): start(ticket: ticket, limit: limit, now: now, effects: &effects)
        case .tokenFetched(attempt, let token): tokenFetched(token, now: now, effects: &effects)
        case .tokenFailed(attempt, let reason): tokenFailed("no token: \(reason)", now: now, effects: &effects)
        case .connected(attempt): connected(now: now)
        case .received(attempt, let message):
            lastHeard = now
            received(message, now: now, effects: &effects)
        case .receivedUnknown(attempt, let seq):
            lastHeard = now
            if let seq, isNext(seq, now: now, effects: &effects) { noteHandled(seq, now: now, effects: &effects) }
        case .receivedUnreadable(attempt):
            // What was in it is lost: only a fresh session is known to be right.
            resumable = nil
            drop(reason: "an unreadable message", now: now, effects: &effects)
        case .disconnected(attempt, let code, let reason):
            disconnected(code: code, reason: reason, now: now, effects: &effects)
        case .tooLarge(attempt, let id, let limit):
            let error = SignalError(.tooLarge(limit: limit), "the server takes messages of up to \(limit) bytes")
            refused(id, error, now: now, effects: &effects)
        case .tokenFetched, .tokenFailed, .connected, .received, .receivedUnknown, .receivedUnreadable,
            .disconnected, .tooLarge:
            break  // From a connection that was given up.
        case .commanded(let request, let ticket): command(request, ticket: ticket, now: now, effects: &effects)
        case .gathered(let candidates): gathered(candidates, effects: &effects)
        case .pushReceived(let push): pushReceived(push, now: now, effects: &effects)
        case .stopped(let ticket): stop(ticket: ticket, now: now, effects: &effects)
        case .abandoned: abandon(now: now, effects: &effects)
        case .cut: drop(reason: "cut", now: now, effects: &effects)
        }
    }

    // MARK: Time

    /// When ``handleTimeouts(now:effects:)`` is to be called; nil while nothing runs.
    public var nextDeadline: Duration? {
        var earliest = stateDeadline
        func consider(_ deadline: Duration?) {
            guard let deadline else { return }
            earliest = min(earliest ?? deadline, deadline)
        }
        consider(ackDue)
        consider(leaving?.deadline)
        if isOpen { consider(upgradeDue) }
        for item in outbox {
            consider(item.deadline(requestTimeout: configuration.requestTimeout))
            if isOpen, item.sentAt == nil { consider(item.heldUntil) }
        }
        for waiter in waiters { consider(waiter.deadline) }
        for index in calls.indices {
            consider(localDeadline(of: calls[index]) ?? askingDeadline(of: calls[index]))
            if isServed(calls[index].call.id) { consider(calls[index].repeatsOwnAt) }
        }
        return earliest
    }

    /// Does what is due. Early calls do nothing.
    public mutating func handleTimeouts(now: Duration, effects: inout [SessionEffect]) {
        if let deadline = stateDeadline, deadline <= now { stateExpired(now: now, effects: &effects) }
        if let due = ackDue, due <= now { sendAck(effects: &effects) }
        if let leaving, leaving.deadline <= now { finishClosing(ticket: leaving.ticket, now: now, effects: &effects) }
        if isOpen, let due = upgradeDue, due <= now { upgradeIsDue(now: now, effects: &effects) }
        expireWaiters(now: now, effects: &effects)
        releaseHeld(now: now, effects: &effects)
        expireCommands(now: now, effects: &effects)
        expireCalls(now: now, effects: &effects)
        repeatRefusedCandidates(now: now, effects: &effects)
    }
}

extension ClientSession {
    /// What a session is set up with. All durations are positive.
    public struct Configuration: Sendable {
        public var device: DeviceDescription
        /// The device's push tokens, said at the first opening; nil leaves those the server has.
        public var push: [PushToken]?
        /// Says `call.ringing` for each incoming call by itself.
        public var automaticRinging = true
        /// Says `push.report` with this for each push handed to the session; nil leaves it to the app.
        public var automaticReport: ReportResult?
        /// How long a command may wait for a connection, and then for its answer.
        public var requestTimeout: Duration = .seconds(10)
        /// How long each of the token, the socket with its welcome, may take.
        public var connectTimeout: Duration = .seconds(10)
        /// How long `answer`, `decline`, `hangup` and what else is safe to repeat waits for a new connection.
        public var keepTime: Duration = .seconds(60)
        /// How long an answered call outlives its connection. The server ends it a resume window after it has missed
        /// this phone, which may take it two ping intervals.
        public var callKeepTime: Duration = .seconds(90)
        /// How long a call that only a push told of rings, as long as the server's clock is not known.
        public var unclockedRingTime: Duration = .seconds(45)
        public var backoffBase: Duration = .milliseconds(500)
        public var backoffCeiling: Duration = .seconds(30)
        /// A session that stood this long makes the backoff start afresh.
        public var stableTime: Duration = .seconds(10)
        /// An acknowledgement is sent after this many events, or `ackDelay` after the first of them.
        public var ackEvery = 16
        /// Well under the 2 s after which the server pushes what it thinks undelivered.
        public var ackDelay: Duration = .milliseconds(250)
        /// Asks something of a server that has been silent for two and a half of its ping intervals, so that a dead
        /// connection is found before the next call is missed. Off, an idle phone costs nothing at all.
        public var probesSilence = true

        public init(device: DeviceDescription, push: [PushToken]? = nil) {
            self.device = device
            self.push = push
        }
    }

    /// How many commands wait at most.
    public static let outboxLimit = 256
    /// How many ended calls are remembered.
    public static let endedLimit = 64
    /// The protocol version spoken.
    public static let protocolVersion = 1
    /// How long past its deadline a call goes on while the server has not ended it.
    static let ringGrace: Duration = .seconds(2)
    /// How long `session.close` may take, and before it what is still to be said.
    static let closeTimeout: Duration = .seconds(2)
}
