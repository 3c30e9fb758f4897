import CallVocabulary
import PushCore

/// State and counters of the push path, for metrics.
public struct PushStatistics: Equatable, Sendable {
    /// One pool: one environment with its credential; for Web Push one entry of `push.webpush.hosts`, with all its push services.
    public struct Pool: Equatable, Sendable {
        public var provider: PushProvider
        public var environment: PushEnvironment
        /// A display name: `APNs production`, `FCM my-project`.
        public var name: String
        /// Distinguishes the credentials of one provider.
        public var credentialName: String
        /// The permitted topics, or the one project; nil where any is.
        public var topics: Set<String>?
        /// Advice for a refused credential.
        public var advice: String
        /// Pushes that wait for a stream or for the call core's decision.
        public var queueDepth = 0
        /// The part of `queueDepth` whose device is throttled.
        public var held = 0
        /// When the longest-waiting push was queued.
        public var oldestWaiting: Instant?
        /// When a push last left the queue that had waited too long, without a connection or with one; nil once that is
        /// over.
        public var cutOffAt: Instant?
        public var overdueAt: Instant?
        /// Why the last connection failed; nil once one was opened.
        public var connectionFailure: String?
        /// Devices that are throttled now or were recently.
        public var throttledDevices = 0
        public var circuit = PushCircuit.closed
        /// When the provider's throttling of the account ends.
        public var throttledUntil: Instant?
        public var streamsInFlight = 0
        public var openConnections = 0
        public var counters = PushCounters()
        /// Pushes with an outcome, and those that the provider is at fault for; not of push services that a device may have
        /// invented.
        public var ended: UInt64 = 0
        public var failed: UInt64 = 0
        public var credential = CredentialHealth()
        /// Topics whose pushes are refused consecutively, which indicates a wrong configuration.
        public var suspectTopics: [SuspectTopic] = []
        /// When the last push was refused, while the provider refuses those of all users; else nil.
        public var allRefusedAt: Instant?
        /// The expiry of the client certificate, if that is the credential.
        public var certificateExpiresAt: Instant?
        /// Pushes sent without their custom part, or also without the caller's name.
        public var customOmitted: UInt64 = 0
        public var nameOmitted: UInt64 = 0
        /// From the core's decision on a call's push until its request was written to the connection, including both
        /// commits. In whole milliseconds; each attempt counts. Requests held by the provider's flow control or by the
        /// kernel count as written.
        public var timeToWire = LatencyHistogram()

        public init(
            provider: PushProvider = .apns, environment: PushEnvironment, name: String? = nil,
            credentialName: String = "", advice: String = CredentialHealth.keyAdvice
        ) {
            self.provider = provider
            self.environment = environment
            self.name = name ?? "APNs \(environment.rawValue)"
            self.credentialName = credentialName
            self.advice = advice
        }

        /// The queue of one destination, as readiness judges it.
        public struct Line: Equatable, Sendable {
            /// For display: the pool's name, or that of one push service.
            public var name: String
            /// Pushes that wait, without held ones.
            public var waiting: Int
            public var oldestWaiting: Instant?
            public var openConnections: Int
            /// As of the pool.
            public var cutOffAt: Instant?
            public var overdueAt: Instant?
            public var connectionFailure: String?
        }

        /// One for each push service of the pool that readiness counts; nil for a pool with one destination.
        private var webPushQueues: [Line]?

        /// The queues that readiness judges.
        public var lines: [Line] {
            webPushQueues ?? [
                Line(
                    name: name, waiting: queueDepth - held, oldestWaiting: oldestWaiting,
                    openConnections: openConnections, cutOffAt: cutOffAt, overdueAt: overdueAt,
                    connectionFailure: connectionFailure)
            ]
        }

        /// The sum of the push services of one entry of `push.webpush.hosts`.
        init(webPush host: String) {
            self.init(
                provider: .webpush, environment: .production, name: "Web Push \(host)", credentialName: host,
                advice: "check push.webpush.subject and this machine's clock")
            webPushQueues = []
        }

        /// Adds the counters of another pool.
        mutating func count(_ other: Self) {
            counters.add(other.counters)
            ended += other.ended
            failed += other.failed
            customOmitted += other.customOmitted
            nameOmitted += other.nameOmitted
            timeToWire.add(other.timeToWire)
        }

        /// Adds the figures of one push service. What fails there counts only if it is trusted.
        mutating func add(_ other: Self, isTrusted: Bool) {
            count(other)
            queueDepth += other.queueDepth
            held += other.held
            if let oldest = other.oldestWaiting { oldestWaiting = oldestWaiting.map { min($0, oldest) } ?? oldest }
            throttledDevices += other.throttledDevices
            streamsInFlight += other.streamsInFlight
            openConnections += other.openConnections
            guard isTrusted else { return }
            webPushQueues?.append(contentsOf: other.lines)
            advice = other.advice
            if circuit == .closed { circuit = other.circuit }
            if let until = other.throttledUntil { throttledUntil = throttledUntil.map { max($0, until) } ?? until }
            if other.credential.failures > credential.failures { credential = other.credential }
            suspectTopics += other.suspectTopics
            if let last = other.allRefusedAt { allRefusedAt = allRefusedAt.map { max($0, last) } ?? last }
        }
    }

    public var pools: [Pool] = []
    /// Pushes whose wake token is in preparation.
    public var preparing = 0
    /// iPhone alerts whose APNs token is being mapped to an FCM token.
    public var mapping = 0
    /// Pushes refused: no credentials, an unsupported kind, or a full queue.
    public var refused: UInt64 = 0

    public init() {}
}
