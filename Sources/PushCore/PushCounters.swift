import CallVocabulary

/// A pool's counters since its start.
public struct PushCounters: Equatable, Sendable {
    /// Why a push was not sent.
    public enum UnsentCause: String, Sendable, CaseIterable {
        case expired
        /// The queue was full, without a notice in it to shed for a call.
        case queueFull = "queue_full"
        /// A notice was shed for a call, or there were too many notices.
        case noticeShed = "notice_shed"
        case circuitOpen = "circuit_open"
        case deviceThrottled = "device_throttled"
        /// The provider throttles the account beyond the push's expiry.
        case quotaExceeded = "quota_exceeded"
        case noProviderToken = "no_provider_token"
        /// The push's credential was removed while it waited.
        case credentialGone = "credential_gone"

        /// Whether the provider is at fault for a push that was queued. It expires where no connection takes it.
        var isOfProvider: Bool {
            switch self {
            case .expired, .queueFull, .quotaExceeded: true
            // Credentials are judged by ``CredentialHealth``.
            case .noticeShed, .circuitOpen, .deviceThrottled, .noProviderToken, .credentialGone: false
            }
        }
    }

    public var queued: UInt64 = 0
    /// Requests handed to a connection; a retry counts again.
    public var sent: UInt64 = 0
    public var accepted: UInt64 = 0
    public var rejected: UInt64 = 0
    public var unknown: UInt64 = 0
    public var returned: UInt64 = 0
    public var unsent: UInt64 = 0
    /// Rejected, unknown, unsent and given up pushes for which the provider is at fault: it could not be reached, did not
    /// answer, had an error, or throttled the account.
    public var failed: UInt64 = 0
    public var dropped: UInt64 = 0
    /// The part of `dropped` and of `failed` that had waited too long for the provider when the call was over.
    public var givenUp: UInt64 = 0
    public var goAways: UInt64 = 0
    public var connectionsOpened: UInt64 = 0
    public var connectionsFailed: UInt64 = 0
    /// Provider tokens signed, or access tokens fetched.
    public var tokensSigned: UInt64 = 0
    public var tokensFailed: UInt64 = 0
    public var circuitsOpened: UInt64 = 0
    /// `unsent`, by cause.
    public var unsentByCause: [UnsentCause: UInt64] = [:]
    /// Answers other than acceptance.
    public var refusals = PushRefusals()
    /// From a request to its answer, accepted or not; requests without an answer are not included.
    public var latency = LatencyHistogram()

    public init() {}

    /// Pushes with an outcome, and those that were given up.
    public var ended: UInt64 { accepted + rejected + unknown + unsent + givenUp }

    /// Adds the counters of another pool.
    public mutating func add(_ other: PushCounters) {
        let sums: [WritableKeyPath<PushCounters, UInt64>] = [
            \.queued, \.sent, \.accepted, \.rejected, \.unknown, \.unsent, \.failed, \.returned, \.dropped, \.givenUp,
            \.goAways, \.connectionsOpened, \.connectionsFailed, \.tokensSigned, \.tokensFailed, \.circuitsOpened,
        ]
        for sum in sums { self[keyPath: sum] += other[keyPath: sum] }
        unsentByCause.merge(other.unsentByCause, uniquingKeysWith: +)
        refusals.add(other.refusals)
        latency.add(other.latency)
    }
}
