import CallVocabulary

/// What an answer of a provider asks of us.
public enum PushVerdict: Sendable, CaseIterable {
    /// The provider has taken the push. That says nothing about delivery.
    case accepted
    /// The token was valid once and is not any more; the answer says since when.
    case tokenGone
    /// The token was never valid here: of the other environment, of another app, or made up.
    case tokenMismatched
    /// Nothing sent with this credential will pass until somebody sees to the configuration.
    case credentialRefused
    /// Nothing sent to this topic with this credential will pass.
    case topicRefused
    /// A new provider token on a new connection may pass.
    case providerTokenStale
    /// Too many pushes to this one device.
    case deviceThrottled
    /// Too many pushes of this account: none is taken for a while.
    case providerThrottled
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
        case .expiredProviderToken, .tooManyProviderTokenUpdates: .providerTokenStale
        case .tooManyRequests: .deviceThrottled
        case .internalServerError, .serviceUnavailable, .idleTimeout: .retryable
        case .shutdown: .serverLeaving
        case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .duplicateHeaders, .invalidPushType,
            .missingDeviceToken, .payloadEmpty, .badPath, .methodNotAllowed, .payloadTooLarge:
            .requestFaulty
        }
    }
}
