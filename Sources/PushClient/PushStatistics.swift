import CallVocabulary
import PushCore

/// The push path's state and counts, for metrics.
public struct PushStatistics: Equatable, Sendable {
    /// One pool: one environment with its credential.
    public struct Pool: Equatable, Sendable {
        public var environment: PushEnvironment
        /// Pushes that wait for a stream or for the call core's word.
        public var queueDepth = 0
        public var streamsInFlight = 0
        public var openConnections = 0
        public var counters = PushCounters()
        public var credential = CredentialHealth()
        /// Pushes that went out without their custom part, or without the caller's name as well.
        public var customOmitted: UInt64 = 0
        public var nameOmitted: UInt64 = 0

        public init(environment: PushEnvironment) {
            self.environment = environment
        }
    }

    public var pools: [Pool] = []
    /// Pushes whose wake token is being made.
    public var preparing = 0
    /// Pushes there was no way for: no credentials, a kind not sent here, a queue that was full.
    public var refused: UInt64 = 0

    public init() {}
}
