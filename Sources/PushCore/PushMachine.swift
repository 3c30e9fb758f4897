import CallVocabulary
import Determinism

/// Sends the pushes of one credential in one environment of its provider over a pool of connections. Does no I/O and
/// reads no clock: it handles inputs and returns effects.
///
/// ```
///  queued ─▶ waiting ─ready─▶ announced ─cleared─▶ submitting ─submitted─▶ open ─▶ outcome
///            ▲  ▲  │              │ dropped ─▶ gone     │                    │
///            │ held◀ back-off     │                     │                    │
///            └── returned, also postponed ─────────────────┴────────────────────┘
/// ```
/// Between `ready` and `cleared` the call core checks the push and commits it as sent, before its first byte leaves. A
/// push that returns, refused or to be retried, is announced again, so every attempt is checked.
/// Each push that is neither dropped nor still in the machine has had exactly one final outcome.
public struct PushMachine: Sendable {
    enum Phase: Sendable {
        case waiting
        /// Out of the queue for a backoff, so that it does not block the pushes behind it.
        case held(DeadlineQueue<PushIndex>.Token, isForDevice: Bool)
        /// A stream of this connection is reserved; the reservation ends with the connection.
        case announced(PushConnectionID)
        case submitting(PushConnectionID)
        case open(PushConnectionID, stream: Int32)
    }

    struct Push: Sendable {
        let terms: PushTerms
        var phase = Phase.waiting
        /// The push's expiry, until it is submitted; nil from then on, because its stream has a timeout.
        var deadline: DeadlineQueue<PushIndex>.Token?
        /// The connection that failed it; a retry takes another.
        var avoided: PushConnectionID?
        /// The provider token it was last sent with.
        var tokenGeneration = 0
        var hasRetriedServerError = false
        var hasRetriedProviderToken = false
        var hasRetriedQuota = false
        /// The ticket of its current entry in the queue; older entries are skipped.
        var ticket: UInt64 = 0
        /// The provider's answer to the previous attempt, for the final reason.
        var setback: String?
        /// When it was first queued.
        var waitsSince: Instant?
        /// When it took its current place in the queue.
        var inLineSince = Instant(milliseconds: .max)
    }

    public internal(set) var policy: PushPolicy
    /// Counters since the start.
    public internal(set) var counters = PushCounters()

    /// Whether the provider accepts the credential.
    public internal(set) var credential = CredentialHealth()

    /// When a push last left the queue unsent that had waited for ``PushPolicy/longestHandshake`` without a connection; nil
    /// once one was opened. Nobody waits between two calls, and the provider is as far away as before.
    public internal(set) var cutOffAt: Instant?
    /// When a push last left the queue that had waited for ``PushPolicy/longestWait``; nil once one was sent sooner.
    public internal(set) var overdueAt: Instant?
    /// Why the last connection failed; nil once one was opened.
    public internal(set) var connectionFailure: String?

    var pushes = PushTable(vacant: Push(terms: PushTerms(expiresAt: Instant(milliseconds: .min))))
    var deadlines = DeadlineQueue<PushIndex>()
    var lines = WaitingLines()
    var held = DeadlineQueue<PushIndex>()
    /// Pushes in phase `waiting`.
    var waitingCount = 0
    /// Pushes in phase `announced`.
    var announcedCount = 0
    /// Notices in phase `waiting`, `held` or `announced`.
    var noticeCount = 0

    /// All connections of the pool, the oldest first.
    var connections: [PushConnection] = []
    var nextConnection: UInt64 = 0
    /// Connections with lower numbers carry a replaced credential.
    var firstOfCredential: UInt64 = 0
    /// No connection is opened before.
    var opensFrom = Instant(milliseconds: .min)
    var reconnects: Backoff
    var providerToken: ProviderToken
    var breaker: CircuitBreaker
    var throttle: DeviceThrottle
    /// The end of the account's backoff; nil when it is not throttled.
    var quietUntil: Instant?
    /// Whether the provider throttled the account explicitly, not inferred from many refusals.
    var isQuietForCertain = false
    /// Pushes throttled in a row, since the last acceptance, by answers that do not tell whose quota it was: one for each
    /// user, whose devices say nothing about those of others, or for each token of no known user.
    var throttledInARow: [PushTerms] = []
    /// While the account's backoff is only inferred, no other pushes are announced.
    var quotaProbes: QuotaProbes
    /// Pushes whose credential was refused since it was last accepted, likewise; see ``PushPolicy/isChosenByDevices``.
    var refusedInARow: [PushTerms] = []
    var quotaRefusals: Backoff
    var evidence = TopicEvidence()
    var random: SeededGenerator

    /// The time of the current input.
    private(set) var now = Instant(milliseconds: .min)
    /// The effects of the current input, in order.
    var effects: [PushEffect] = []

    /// - Parameter seed: for the jitter; the same seed and inputs give the same effects.
    public init(policy: PushPolicy, seed: UInt64) {
        precondition(policy.connections >= 2, "a retry needs a second connection")
        self.policy = policy
        reconnects = Backoff(policy.reconnectBackoff)
        providerToken = ProviderToken(policy: policy)
        breaker = CircuitBreaker(policy: policy)
        throttle = DeviceThrottle(policy: policy)
        quotaRefusals = Backoff(policy.quotaBackoff)
        quotaProbes = QuotaProbes(policy: policy)
        random = SeededGenerator(seed: seed)
    }

    /// Handles one input at `now`, which never decreases, and appends the effects.
    public mutating func handle(_ input: PushInput, now: Instant, effects: inout [PushEffect]) {
        self.now = now
        swap(&self.effects, &effects)
        defer { swap(&self.effects, &effects) }
        switch input {
        case .queued(let push, let terms): queue(push, terms)
        case .cleared(let push): clear(push)
        case .postponed(let push): postpone(push)
        case .dropped(let push): drop(push)
        case .opened(let id, let limit): opened(id, streamLimit: limit)
        case .streamLimitChanged(let id, let limit): update(id) { $0.streamLimit = limit }
        case .goneAway(let id, let lastStream, _): goneAway(id, lastStream: lastStream)
        case .pingAnswered(let id): update(id) { _ in }
        case .closed(let id, let reason): closed(id, reason: reason)
        // The stream replaces its reservation, so no further push can be announced.
        case .submitted(let id, let push, let stream): return submitted(push, on: id, stream: stream)
        case .notSubmitted(let id, let push): notSubmitted(push, on: id)
        case .answered(let id, let stream, let answer): answered(answer, on: id, stream: stream)
        case .statusRead(let id, let stream, let answer):
            if let index = index(of: id) { connections[index].note(answer, of: stream) }
        case .streamRefused(let id, let stream): refused(on: id, stream: stream)
        case .streamLost(let id, let stream, let reason): lost(on: id, stream: stream, reason: reason)
        case .providerTokenSigned(let generation, let expiresAt): signed(generation, expiresAt: expiresAt)
        case .providerTokenFailed(let generation, let reason): signingFailed(generation, reason: reason)
        case .clockSet: providerToken.clockSet()
        case .credentialReplaced(let kind): replaceCredential(kind)
        case .credentialGone(let push, let reason): withdraw(push, reason: reason)
        }
        pump()
    }

    /// When ``handleTimeouts(now:effects:)`` is due; nil when nothing is.
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
            if isQuotaProbed { consider(quotaProbes.next) }
            if let due = providerToken.nextSigning { consider(due) }
            if wantsConnection { consider(opensFrom) }
        }
        if let due = circuitDeadline { consider(due) }
        return next
    }

    /// Fires every deadline up to `now`.
    public mutating func handleTimeouts(now: Instant, effects: inout [PushEffect]) {
        self.now = now
        swap(&self.effects, &effects)
        defer { swap(&self.effects, &effects) }
        while let push = deadlines.popDue(now: now) {
            pushTimedOut(push)
        }
        for id in connections.map(\.id) { streamsTimedOut(on: id) }
        for id in connections.map(\.id) { connectionTimedOut(id) }
        releaseHeld()
        throttle.forget(now: now)
        pump()
    }

    /// Pushes that wait for a stream, for the end of a backoff, or for the call core.
    public var queueDepth: Int { waitingCount + held.count + announcedCount }
    /// Pushes that wait for the end of a backoff.
    public var heldPushes: Int { held.count }
    /// Since when the longest waiting push waits for a stream; nil when none waits. Held pushes do not count.
    public var oldestWaiting: Instant? { lines.oldest(isWaiting) }
    /// Devices that the provider has recently throttled.
    public var throttledDevices: Int { throttle.count }
    public var circuit: PushCircuit { breaker.state }
    /// Topics whose recent pushes were all refused, so that the configuration must be wrong.
    public var suspectTopics: [SuspectTopic] { evidence.suspects }
    /// When the last push was refused, while the provider refuses the pushes of all users; nil otherwise.
    public var allRefusedAt: Instant? { evidence.allRefusedAt }
    /// The end of the account's backoff; nil when it is not throttled.
    public var throttledUntil: Instant? { quietUntil }
    /// Pushes on the wire.
    public var streamsInFlight: Int { connections.reduce(0) { $0 + $1.streams.count } }
    /// Connections that take requests.
    public var openConnections: Int { connections.count { $0.isOpen } }
    /// Whether the machine has this push.
    public func contains(_ push: PushID) -> Bool { pushes.slot(of: push) != nil }
    /// Whether the machine has the push and no byte of it has been submitted.
    public func isUnsent(_ push: PushID) -> Bool {
        guard let index = pushes.slot(of: push) else { return false }
        switch pushes[index].phase {
        case .waiting, .held, .announced: return true
        case .submitting, .open: return false
        }
    }
}
