import CallVocabulary
import Determinism

/// Sends the pushes of one credential in one environment of its provider over a pool of connections. Does no I/O and
/// reads no clock: it is told what has happened, and says what is to be done.
///
/// ```
///  queued ─▶ waiting ─ready─▶ announced ─cleared─▶ submitting ─submitted─▶ open ─▶ outcome
///            ▲  ▲  │              │ dropped ─▶ gone     │                    │
///            │ held◀ back-off     │                     │                    │
///            └──── returned ──────┴─────────────────────┴────────────────────┘
/// ```
/// `ready` and `cleared` let the call core look once more and commit the push as sent before its first byte leaves;
/// a push that comes back (refused, or worth a retry) is announced again, so every attempt is looked at.
/// Each push that is neither dropped nor still in here has had exactly one final outcome.
public struct PushMachine: Sendable {
    enum Phase: Sendable {
        case waiting
        /// Aside from the lines for a while, so that it does not hold up those behind it. Not to be had before.
        case held(DeadlineQueue<PushIndex>.Token, isForDevice: Bool)
        /// A stream was reserved there; the reservation is gone when the connection is.
        case announced(PushConnectionID)
        case submitting(PushConnectionID)
        case open(PushConnectionID, stream: Int32)
    }

    struct Push: Sendable {
        let terms: PushTerms
        var phase = Phase.waiting
        /// The end of ring time until it is submitted; nil from then on, as its stream knows the end of patience.
        var deadline: DeadlineQueue<PushIndex>.Token?
        /// Not to be retried on the connection that failed it.
        var avoided: PushConnectionID?
        /// The provider token it was last sent with.
        var tokenGeneration = 0
        var hasRetriedServerError = false
        var hasRetriedProviderToken = false
        var hasRetriedQuota = false
        /// Which of its entries in the lines is the current one; older ones are skipped.
        var ticket: UInt64 = 0
        /// What the provider said to the attempt before, for the reason given at the end.
        var setback: String?
        /// When it joined a line for the first time.
        var waitsSince: Instant?
    }

    public internal(set) var policy: PushPolicy
    /// Counts since the start.
    public internal(set) var counters = PushCounters()

    /// Whether the provider takes the credential.
    public internal(set) var credential = CredentialHealth()

    var pushes = PushTable(vacant: Push(terms: PushTerms(expiresAt: Instant(milliseconds: .min))))
    var deadlines = DeadlineQueue<PushIndex>()
    var lines = WaitingLines()
    var held = DeadlineQueue<PushIndex>()
    /// Pushes in phase `waiting`.
    var waitingCount = 0
    /// Pushes in phase `announced`.
    var announcedCount = 0
    /// Notices among those that wait, are held or announced.
    var noticeCount = 0

    /// All that are not gone, the oldest first.
    var connections: [PushConnection] = []
    var nextConnection: UInt64 = 0
    /// Those with lower numbers carry a credential that was replaced.
    var firstOfCredential: UInt64 = 0
    /// Before that no connection is opened.
    var opensFrom = Instant(milliseconds: .min)
    var reconnects: Backoff
    var providerToken: ProviderToken
    var breaker: CircuitBreaker
    var throttle: DeviceThrottle
    /// Until when the provider takes nothing of us.
    var quietUntil: Instant?
    /// Whether the provider said so, and it was not guessed from many refusals.
    var isQuietForCertain = false
    /// Where pushes went that were refused as too many without a word on whose quota it was, since one was accepted.
    var throttledInARow: [PushToken?] = []
    var quotaRefusals: Backoff
    var evidence = TopicEvidence()
    var random: SeededGenerator

    /// - Parameter seed: of the jitter; the same seed and inputs give the same effects.
    public init(policy: PushPolicy, seed: UInt64) {
        precondition(policy.connections >= 2, "a retry needs a second connection")
        self.policy = policy
        reconnects = Backoff(policy.reconnectBackoff)
        providerToken = ProviderToken(policy: policy)
        breaker = CircuitBreaker(policy: policy)
        throttle = DeviceThrottle(policy: policy)
        quotaRefusals = Backoff(policy.quotaBackoff)
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
        // Takes the place of its reservation, so there is nothing more to announce than before.
        case .submitted(let id, let push, let stream):
            return submitted(push, on: id, stream: stream, now: now, effects: &effects)
        case .notSubmitted(let id, let push): notSubmitted(push, on: id, now: now, effects: &effects)
        case .answered(let id, let stream, let answer):
            answered(answer, on: id, stream: stream, now: now, effects: &effects)
        case .statusRead(let id, let stream, let answer):
            if let index = index(of: id) { connections[index].note(answer, of: stream) }
        case .streamRefused(let id, let stream): refused(on: id, stream: stream, now: now, effects: &effects)
        case .streamLost(let id, let stream, let reason):
            lost(on: id, stream: stream, reason: reason, now: now, effects: &effects)
        case .providerTokenSigned(let generation, let expiresAt):
            signed(generation, expiresAt: expiresAt, now: now, effects: &effects)
        case .providerTokenFailed(let generation, let reason):
            signingFailed(generation, reason: reason, now: now, effects: &effects)
        case .clockSet: providerToken.clockSet()
        case .credentialReplaced(let kind): replaceCredential(kind, now: now, effects: &effects)
        case .credentialGone(let push, let reason): withdraw(push, reason: reason, effects: &effects)
        }
        pump(now: now, effects: &effects)
    }

    /// When ``handleTimeouts(now:effects:)`` is due; nil while nothing is.
    public func nextDeadline() -> Instant? {
        var next = deadlines.next
        func consider(_ instant: Instant) {
            next = next.map { min($0, instant) } ?? instant
        }
        // By index, here and elsewhere: a copy of a connection retains its streams.
        for index in connections.indices {
            consider(connections[index].deadline(policy: policy))
            if let due = connections[index].patienceEnds(policy: policy) { consider(due) }
            if waitingCount > 0, let pausedUntil = connections[index].pausedUntil { consider(pausedUntil) }
        }
        if let due = held.next { consider(due) }
        guard waitingCount > 0 else { return next }
        if mayAnnounce {
            if let quietUntil { consider(quietUntil) }
            if let due = providerToken.nextSigning { consider(due) }
            if wantsConnection { consider(opensFrom) }
        }
        if let due = circuitDeadline { consider(due) }
        return next
    }

    /// Does what is due at `now`.
    public mutating func handleTimeouts(now: Instant, effects: inout [PushEffect]) {
        while let push = deadlines.popDue(now: now) {
            pushTimedOut(push, effects: &effects)
        }
        for id in connections.map(\.id) { streamsTimedOut(on: id, now: now, effects: &effects) }
        for id in connections.map(\.id) { connectionTimedOut(id, now: now, effects: &effects) }
        releaseHeld(now: now, effects: &effects)
        throttle.forget(now: now)
        pump(now: now, effects: &effects)
    }

    /// Pushes that wait: for a stream, for the end of a back-off, or for the call core's word.
    public var queueDepth: Int { waitingCount + held.count + announcedCount }
    /// Those of them that wait for the end of a back-off.
    public var heldPushes: Int { held.count }
    /// Since when the push waits for a stream that waits longest; nil while none does. Held ones do not count.
    public var oldestWaiting: Instant? { lines.oldest(isWaiting) }
    /// Devices that got too many pushes lately.
    public var throttledDevices: Int { throttle.count }
    public var circuit: PushCircuit { breaker.state }
    /// Topics whose pushes are refused one after the other, so that the configuration must be wrong.
    public var suspectTopics: [SuspectTopic] { evidence.suspects }
    /// When the last push was refused, while the provider refuses those of all users; nil while it does not.
    public var allRefusedAt: Instant? { evidence.allRefusedAt }
    /// Until when nothing is sent because it was too much for the whole account; nil while nothing is wrong.
    public var throttledUntil: Instant? { quietUntil }
    /// Pushes on the wire.
    public var streamsInFlight: Int { connections.reduce(0) { $0 + $1.streams.count } }
    /// Connections that take requests.
    public var openConnections: Int { connections.count { $0.isOpen } }
    /// Whether a push of this id is in here.
    public func contains(_ push: PushID) -> Bool { pushes.slot(of: push) != nil }
    /// Whether the push was announced and waits for the call core's word.
    public func isAnnounced(_ push: PushID) -> Bool {
        if let index = pushes.slot(of: push), case .announced = pushes[index].phase { true } else { false }
    }
}
