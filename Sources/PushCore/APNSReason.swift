/// The reasons APNs gives for refusing a push: the closed table of "Handling notification responses from APNs".
public enum APNSReason: String, Sendable, CaseIterable {
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
    case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"

    /// The status that comes with it.
    public var status: Int {
        switch self {
        case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
            .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken,
            .missingTopic, .payloadEmpty, .topicDisallowed:
            400
        case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden, .invalidProviderToken,
            .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .expiredToken, .unregistered: 410
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable, .shutdown: 503
        }
    }

    /// What it asks of us.
    public var verdict: APNSVerdict {
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

/// What an answer of APNs asks of us.
public enum APNSVerdict: Sendable, CaseIterable {
    /// APNs has taken the push. That says nothing about delivery.
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
    /// We made a request that is wrong in itself: repeating it is of no use.
    case requestFaulty
    /// Not processed, for a reason on the server's side: once more is worth it.
    case retryable
    /// As `retryable`, and the connection is of no use any more.
    case serverLeaving
}
