import CallVocabulary
import PushVocabulary

/// What an answer of a provider asks of us.
public enum PushVerdict: Sendable, CaseIterable {
    /// The provider has taken the push. That says nothing about delivery.
    case accepted
    /// The token was valid once and is not any more; the answer says since when (410 of APNs).
    case tokenGone
    /// The provider knows no such token, or not any more, and says no time (`UNREGISTERED` of FCM).
    case tokenUnknown
    /// The token was never valid here: of the other environment, of another app, or made up.
    case tokenMismatched
    /// Nothing sent with this credential will pass until somebody sees to the configuration.
    case credentialRefused
    /// Nothing sent to this topic with this credential will pass.
    case topicRefused
    /// The provider's own credential for the network behind it was refused there (APNs or Web Push behind FCM).
    case relayRefused
    /// The provider token is too old; a new one on a new connection may pass.
    case providerTokenStale
    /// The provider token came too soon after another one on the same connection; on a new connection it may pass.
    case providerTokenTooNew
    /// Too many pushes to this one device.
    case deviceThrottled
    /// Too many pushes of this account: none is taken for a while.
    case providerThrottled
    /// Too many pushes, and the answer does not say whether of the device or of the account.
    case throttled
    /// We made a request that is wrong in itself: repeating it is of no use.
    case requestFaulty
    /// Not processed, for a reason on the server's side: once more is worth it.
    case retryable
    /// As `retryable`, and the connection is of no use any more.
    case serverLeaving
}

extension APNSReason {
    /// What it asks of us.
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
