import CallVocabulary
import PushCore

/// The push path's state and counts, for metrics.
public struct PushStatistics: Equatable, Sendable {
    /// One pool: one environment with its credential.
    public struct Pool: Equatable, Sendable {
        public var provider: PushProvider
        public var environment: PushEnvironment
        /// Words for people: `APNs production`, `FCM my-project`.
        public var name: String
        /// Tells the credentials of one provider apart.
        public var credentialName: String
        /// What to look at when the credential is refused.
        public var advice: String
        /// Pushes that wait for a stream or for the call core's word.
        public var queueDepth = 0
        /// Of these, pushes whose device is left alone for a while.
        public var held = 0
        /// When the push was queued that has waited longest.
        public var oldestWaiting: Instant?
        /// Devices that are left alone for a while, or were not long ago.
        public var throttledDevices = 0
        public var circuit = PushCircuit.closed
        /// Until when the provider takes nothing of the account.
        public var throttledUntil: Instant?
        public var streamsInFlight = 0
        public var openConnections = 0
        public var counters = PushCounters()
        public var credential = CredentialHealth()
        /// Topics whose pushes are refused one after the other, so that the configuration must be wrong.
        public var suspectTopics: [SuspectTopic] = []
        /// When the last push was refused, while the provider refuses those of all users; nil while it does not.
        public var allRefusedAt: Instant?
        /// Of the client certificate, if that is the credential.
        public var certificateExpiresAt: Instant?
        /// Pushes that went out without their custom part, or without the caller's name as well.
        public var customOmitted: UInt64 = 0
        public var nameOmitted: UInt64 = 0
        /// From the core's decision on a push for a call until its request was written to the provider's connection, both
        /// commits included, in whole milliseconds. A push that is sent again counts again. What the provider's flow
        /// control or the kernel holds back counts as written.
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

        /// What there is to say of the credential's end, if it is over.
        public func expiryProblem(now: Instant) -> String? {
            guard let certificateExpiresAt, certificateExpiresAt <= now else { return nil }
            return APNSCertificate.expiry(certificateExpiresAt, now: now)
        }

        /// What there is to say of the credential's end, if it is over or near.
        public func expiryWarning(now: Instant) -> String? {
            guard let certificateExpiresAt else { return nil }
            return APNSCertificate.expiry(certificateExpiresAt, now: now).map { "\(name): \($0)" }
        }
    }

    public var pools: [Pool] = []
    /// Pushes whose wake token is being made.
    public var preparing = 0
    /// Alerts for iPhones whose APNs token is being mapped to an FCM token.
    public var mapping = 0
    /// Pushes there was no way for: no credentials, a kind not sent here, a queue that was full.
    public var refused: UInt64 = 0

    public init() {}
}
