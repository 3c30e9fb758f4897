import CallVocabulary
import Determinism

/// The client's side of a session, without I/O: inputs in, effects out.
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
/// A value without a clock: `now` is the time since any fixed origin and never decreases. The caller calls
/// ``handleTimeouts(now:effects:)`` at ``nextDeadline``. The same inputs, times and seed give the same effects.
public struct ClientSession: Sendable {
    /// The state of the connection.
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

    /// A stop that first sends what is still unsent.
    struct Leaving: Equatable, Sendable {
        let ticket: CommandTicket?
        let deadline: Duration
    }

    /// A command that waits for a session to open.
    struct Waiter: Equatable, Sendable {
        let ticket: CommandTicket
        let deadline: Duration?
    }

    public let configuration: Configuration
    var connection = Connection.idle
    /// Why the last attempt failed.
    var lastFailure: String?
    /// The largest message that the server accepts, in bytes; set by its welcome.
    public internal(set) var maxFrameBytes = 64 * 1024
    /// Identifies the present connection; incremented when one is dropped.
    public internal(set) var attempt: UInt64 = 0
    var backoff: ReconnectBackoff
    var random: SeededGenerator
    var waiters: [Waiter] = []
    var leaving: Leaving?
    /// Since when no session is open; nil while one is, and before the first.
    var offlineSince: Duration?

    /// The scope of the present connection's token.
    var grant = Grant.full
    /// When to ask the app for its own token again, while a wake token is used.
    var upgradeDue: Duration?
    var tokenBackoff: ReconnectBackoff
    /// The wake token of a push whose call has ended.
    var lateWake: (call: CallID, token: String)?

    /// The session that can be resumed.
    var resumable: Resumable?
    /// The last event handled; `ackedSeq` is the last one acknowledged.
    var lastSeq: UInt64 = 0
    var ackedSeq: UInt64 = 0
    var ackDue: Duration?

    /// Commands that wait to be sent or answered, oldest first.
    var outbox: [OutboxItem] = []
    var nextRequest: Int64 = 1
    /// The newest request answered over the present connection.
    var lastAnswered: Int64 = 0

    var calls: [CallEntry] = []
    /// Ended calls, newest last: later events for them are ignored.
    var ended: [EndedCall] = []

    /// The server's clock minus `now`, in milliseconds.
    var serverClockOffset: Int64?
    var lastHeard: Duration = .zero
    /// How long the server may be silent before it is probed; set by its welcome.
    var silenceLimit: Duration?
    /// The tokens for the next `session.open`; nil once the server has them.
    var pushTokens: [PushToken]?
    /// The tokens last set by the app; nil if it never set any.
    var latestTokens: [PushToken]?
    var appState = AppState.foreground

    /// The data that resumes a session over a new connection.
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

    /// The server's clock at `now`, with an error of up to the duration of the welcome; nil before the first welcome.
    public func serverTime(at now: Duration) -> Instant? {
        serverClockOffset.map { Instant(milliseconds: $0) + now }
    }

    /// The last event handled.
    public var lastHandledSeq: UInt64 { lastSeq }

    // MARK: Inputs

    /// Handles one input, and appends its effects.
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
            // The content is lost: only a new session has consistent state.
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

    /// Fires the deadlines up to `now`. Early calls have no effect.
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
    /// The settings of a session. All durations are positive.
    public struct Configuration: Sendable {
        public var device: DeviceDescription
        /// The push tokens to register with the first session; nil keeps those that the server has.
        public var push: [PushToken]?
        /// Sends `call.ringing` for each incoming call automatically.
        public var automaticRinging = true
        /// Sends `push.report` with this result for each push handed over; nil leaves reports to the app.
        public var automaticReport: ReportResult?
        /// How long a command may wait for a connection, and then for its answer.
        public var requestTimeout: Duration = .seconds(10)
        /// How long fetching the token, and opening the socket up to its welcome, may each take.
        public var connectTimeout: Duration = .seconds(10)
        /// How long repeatable commands, such as `answer`, `decline` and `hangup`, wait for a new connection.
        public var keepTime: Duration = .seconds(60)
        /// How long an answered call outlives its connection. The server ends it one resume window after it detects the
        /// loss, which may take two ping intervals.
        public var callKeepTime: Duration = .seconds(90)
        /// How long a call announced by a push alone rings while the server's clock is unknown.
        public var unclockedRingTime: Duration = .seconds(45)
        public var backoffBase: Duration = .milliseconds(500)
        public var backoffCeiling: Duration = .seconds(30)
        /// A session open for this long resets the backoff.
        public var stableTime: Duration = .seconds(10)
        /// An acknowledgement is sent after this many events, or `ackDelay` after the first of them.
        public var ackEvery = 16
        /// Well below the 2 s after which the server pushes calls that seem undelivered.
        public var ackDelay: Duration = .milliseconds(250)
        /// Probes a server that was silent for 2.5 of its ping intervals, to detect a dead connection before the next
        /// call is missed. Without it an idle phone sends nothing.
        public var probesSilence = true

        public init(device: DeviceDescription, push: [PushToken]? = nil) {
            self.device = device
            self.push = push
        }
    }

    /// The most waiting commands.
    public static let outboxLimit = 256
    /// The most ended calls remembered.
    public static let endedLimit = 64
    /// The protocol version spoken.
    public static let protocolVersion = 1
    /// How long past its deadline a call continues if the server has not ended it.
    static let ringGrace: Duration = .seconds(2)
    /// The timeout of `session.close`, and of sending unsent commands before it.
    static let closeTimeout: Duration = .seconds(2)
    /// One refusal silences the client for no longer, whatever time the server says.
    static let longestRetryDelay: Duration = .seconds(300)
}
