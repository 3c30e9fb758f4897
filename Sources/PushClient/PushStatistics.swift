import CallVocabulary
import PushCore

/// State and counters of the push path, for metrics.
public struct PushStatistics: Equatable, Sendable {
    /// One pool: one environment with its credential.
    public struct Pool: Equatable, Sendable {
        public var provider: PushProvider
        public var environment: PushEnvironment
        /// A display name: `APNs production`, `FCM my-project`.
        public var name: String
        /// Distinguishes the credentials of one provider.
        public var credentialName: String
        /// Advice for a refused credential.
        public var advice: String
        /// Pushes that wait for a stream or for the call core's decision.
        public var queueDepth = 0
        /// The part of `queueDepth` whose device is throttled.
        public var held = 0
        /// When the longest-waiting push was queued.
        public var oldestWaiting: Instant?
        /// Devices that are throttled now or were recently.
        public var throttledDevices = 0
        public var circuit = PushCircuit.closed
        /// When the provider's throttling of the account ends.
        public var throttledUntil: Instant?
        public var streamsInFlight = 0
        public var openConnections = 0
        public var counters = PushCounters()
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

        /// A text about the credential's expiry, if it is past.
        public func expiryProblem(now: Instant) -> String? {
            guard let certificateExpiresAt, certificateExpiresAt <= now else { return nil }
            return APNSCertificate.expiry(certificateExpiresAt, now: now)
        }

        /// A text about the credential's expiry, if it is past or near.
        public func expiryWarning(now: Instant) -> String? {
            guard let certificateExpiresAt else { return nil }
            return APNSCertificate.expiry(certificateExpiresAt, now: now).map { "\(name): \($0)" }
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
