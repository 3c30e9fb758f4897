import CallVocabulary

/// What a pool has done since its start.
public struct PushCounters: Equatable, Sendable {
    /// Why a push was not sent.
    public enum UnsentCause: String, Sendable, CaseIterable {
        case expired
        /// The queue was full, and there was nothing in it that a call would have gone before.
        case queueFull = "queue_full"
        /// A notice gave way to a call, or there were too many notices.
        case noticeShed = "notice_shed"
        case circuitOpen = "circuit_open"
        case deviceThrottled = "device_throttled"
        /// The provider takes nothing of the account until after the push's time.
        case quotaExceeded = "quota_exceeded"
        case noProviderToken = "no_provider_token"
        /// Its credential was taken away while it waited.
        case credentialGone = "credential_gone"
    }

    public var queued: UInt64 = 0
    /// Requests handed to a connection; a retry counts again.
    public var sent: UInt64 = 0
    public var accepted: UInt64 = 0
    public var rejected: UInt64 = 0
    public var unknown: UInt64 = 0
    public var returned: UInt64 = 0
    public var unsent: UInt64 = 0
    public var dropped: UInt64 = 0
    public var goAways: UInt64 = 0
    public var connectionsOpened: UInt64 = 0
    public var connectionsFailed: UInt64 = 0
    /// Provider tokens signed, or access tokens fetched.
    public var tokensSigned: UInt64 = 0
    public var tokensFailed: UInt64 = 0
    public var circuitsOpened: UInt64 = 0
    /// `unsent` by its cause.
    public var unsentByCause: [UnsentCause: UInt64] = [:]
    /// Answers other than an acceptance.
    public var refusals = PushRefusals()
    /// From a request to its answer, whatever it was; requests without one are not in it.
    public var latency = LatencyHistogram()

    public init() {}
}
