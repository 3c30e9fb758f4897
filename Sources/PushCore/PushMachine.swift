import CallVocabulary
import DequeModule
import Determinism

/// Sends the pushes of one credential in one APNs environment over a pool of connections. Does no I/O and reads no
/// clock: it is told what has happened, and says what is to be done.
///
/// ```
///  queued ─▶ waiting ─ready─▶ announced ─cleared─▶ submitting ─submitted─▶ open ─▶ outcome
///               ▲                 │ dropped ─▶ gone     │                    │
///               └── returned ─────┴─────────────────────┴────────────────────┘
/// ```
/// `ready` and `cleared` let the call core look once more and commit the push as sent before its first byte leaves;
/// a push that comes back (refused, or worth a retry) is announced again, so every attempt is looked at.
/// Each push that is neither dropped nor still in here has had exactly one final outcome.
public struct PushMachine: Sendable {
    enum Phase: Sendable {
        case waiting
        /// A stream was reserved there; the reservation is gone when the connection is.
        case announced(PushConnectionID)
        case submitting(PushConnectionID)
        case open(PushConnectionID, stream: Int32)
    }

    struct Push: Sendable {
        let terms: PushTerms
        var phase = Phase.waiting
        /// The end of ring time until it is submitted, the end of patience from then on.
        var deadline: DeadlineQueue<PushID>.Token
        /// Not to be retried on the connection that failed it.
        var avoided: PushConnectionID?
        /// The provider token it was last sent with.
        var tokenGeneration = 0
        var hasRetriedServerError = false
        var hasRetriedProviderToken = false
        /// Which of its entries in a waiting line is the current one; older ones are skipped.
        var ticket: UInt64 = 0
        /// What APNs said to the attempt before, for the reason given at the end.
        var setback: String?
    }

    struct Waiting: Sendable {
        let push: PushID
        let ticket: UInt64
    }

    public let policy: PushPolicy
    /// Counts since the start.
    public internal(set) var counters = PushCounters()

    var pushes: [PushID: Push] = [:]
    var deadlines = DeadlineQueue<PushID>()
    /// First come, first served; those that came back stand in a line of their own, which goes first.
    var fresh = Deque<Waiting>()
    var returned = Deque<Waiting>()
    /// Pushes in phase `waiting`.
    var waitingCount = 0
    /// Pushes in phase `announced`.
    var announcedCount = 0
    var nextTicket: UInt64 = 0

    /// All that are not gone, the oldest first.
    var connections: [PushConnection] = []
    var nextConnection: UInt64 = 0
    /// Before that no connection is opened.
    var opensFrom = Instant(milliseconds: .min)
    var reconnects: Backoff
    var providerToken: ProviderToken
    var random: SeededGenerator

    /// - Parameter seed: of the jitter; the same seed and inputs give the same effects.
    public init(policy: PushPolicy, seed: UInt64) {
        precondition(policy.connections >= 2, "a retry needs a second connection")
        self.policy = policy
        reconnects = Backoff(policy.reconnectBackoff)
        providerToken = ProviderToken(policy: policy.providerToken)
        random = SeededGenerator(seed: seed)
    }

    /// Takes in what has happened at `now`, which never goes back, and appends what is to be done.
    public mutating func handle(_ input: PushInput, now: Instant, effects: inout [PushEffect]) {
        switch input {
        case .queued(let push, let terms): queue(push, terms, now: now, effects: &effects)
        case .cleared(let push): clear(push, now: now, effects: &effects)
        case .dropped(let push): drop(push)
        case .opened(let id, let limit): opened(id, streamLimit: limit, now: now)
        case .streamLimitChanged(let id, let limit):
            update(id, now: now) { $0.streamLimit = limit }
        case .goneAway(let id, let lastStream, _):
            goneAway(id, lastStream: lastStream, now: now, effects: &effects)
        case .pingAnswered(let id): update(id, now: now) { _ in }
        case .closed(let id, let reason): closed(id, reason: reason, now: now, effects: &effects)
        case .submitted(let id, let push, let stream): submitted(push, on: id, stream: stream, now: now)
        case .notSubmitted(let id, let push): notSubmitted(push, on: id, now: now, effects: &effects)
        case .answered(let id, let stream, let answer):
            answered(answer, on: id, stream: stream, now: now, effects: &effects)
        case .streamRefused(let id, let stream): refused(on: id, stream: stream, now: now, effects: &effects)
        case .streamLost(let id, let stream, let reason):
            lost(on: id, stream: stream, reason: reason, now: now, effects: &effects)
        case .providerTokenSigned(let generation, _):
            providerToken.signed(generation)
            counters.tokensSigned += 1
        case .providerTokenFailed(let generation, let reason):
            signingFailed(generation, reason: reason, now: now, effects: &effects)
        }
        pump(now: now, effects: &effects)
    }

    /// When ``handleTimeouts(now:effects:)`` is due; nil while nothing is.
    public func nextDeadline() -> Instant? {
        var next = deadlines.next
        func consider(_ instant: Instant) {
            next = next.map { min($0, instant) } ?? instant
        }
        for connection in connections {
            consider(connection.deadline(policy: policy))
            if waitingCount > 0, let pausedUntil = connection.pausedUntil { consider(pausedUntil) }
        }
        if wantsConnection { consider(opensFrom) }
        return next
    }

    /// Does what is due at `now`.
    public mutating func handleTimeouts(now: Instant, effects: inout [PushEffect]) {
        while let push = deadlines.popDue(now: now) {
            pushTimedOut(push, now: now, effects: &effects)
        }
        for id in connections.map(\.id) { connectionTimedOut(id, now: now, effects: &effects) }
        pump(now: now, effects: &effects)
    }

    /// Pushes that wait for a stream, or were announced and wait for the call core's word.
    public var queueDepth: Int { waitingCount + announcedCount }
    /// Pushes on the wire.
    public var streamsInFlight: Int { connections.reduce(0) { $0 + $1.streams.count } }
    /// Connections that take requests.
    public var openConnections: Int { connections.count { $0.isOpen } }
    /// Whether a push of this id is in here.
    public func contains(_ push: PushID) -> Bool { pushes[push] != nil }
    /// Whether the push was announced and waits for the call core's word.
    public func isAnnounced(_ push: PushID) -> Bool {
        if case .announced? = pushes[push]?.phase { true } else { false }
    }
}
