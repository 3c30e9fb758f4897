import CallVocabulary
import PushVocabulary

/// The meaning of a provider's answer for the push, its token and the pool.
public enum PushVerdict: Sendable, CaseIterable {
    /// The provider has accepted the push. Whether it is delivered is unknown.
    case accepted
    /// The token is no longer valid, and the answer states since when (410 of APNs).
    case tokenGone
    /// The token is unknown or no longer valid, and the answer has no time (`UNREGISTERED` of FCM).
    case tokenUnknown
    /// The token was never valid here: it is of the other environment, of another app, or invented.
    case tokenMismatched
    /// No push with this credential will succeed until the configuration is corrected.
    case credentialRefused
    /// No push to this topic with this credential will succeed.
    case topicRefused
    /// The provider's own credential for APNs or Web Push, behind FCM, was refused.
    case relayRefused
    /// The provider token is too old; a new one on a new connection may succeed.
    case providerTokenStale
    /// The provider token follows another one on the same connection too soon; on a new connection it may succeed.
    case providerTokenTooNew
    /// Too many pushes to this one device.
    case deviceThrottled
    /// Too many pushes of this account: the provider refuses all for a while.
    case providerThrottled
    /// Too many pushes; the answer does not tell whether to the device or of the account.
    case throttled
    /// The request itself is wrong: a retry is useless.
    case requestFaulty
    /// Not processed, for a reason on the server's side: a retry may succeed.
    case retryable
    /// As `retryable`, and the connection must be replaced.
    case serverLeaving
}

extension PushVerdict {
    /// Whether the provider is at fault for a push that ends with it.
    var isOfProvider: Bool {
        switch self {
        case .providerThrottled, .retryable, .serverLeaving: true
        // Of a device or of a user's devices; credentials and topics are judged by their own evidence.
        case .accepted, .tokenGone, .tokenUnknown, .tokenMismatched, .credentialRefused, .topicRefused, .relayRefused,
            .providerTokenStale, .providerTokenTooNew, .deviceThrottled, .throttled, .requestFaulty:
            false
        }
    }
}

extension APNSReason {
    /// The verdict for this reason.
    public var verdict: PushVerdict {
        switch self {
        case .badDeviceToken, .deviceTokenNotForTopic: .tokenMismatched
        case .expiredToken, .unregistered: .tokenGone
        case .badCertificate, .badCertificateEnvironment, .forbidden, .invalidProviderToken, .missingProviderToken,
            .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken:
            .credentialRefused
        case .badTopic, .missingTopic, .topicDisallowed: .topicRefused
        case .expiredProviderToken: .providerTokenStale
        case .tooManyProviderTokenUpdates: .providerTokenTooNew
        case .tooManyRequests: .deviceThrottled
        case .internalServerError, .serviceUnavailable, .idleTimeout: .retryable
        case .shutdown: .serverLeaving
        case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .duplicateHeaders, .invalidPushType,
            .missingDeviceToken, .payloadEmpty, .badPath, .methodNotAllowed, .payloadTooLarge:
            .requestFaulty
        }
    }
}
