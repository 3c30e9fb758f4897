/// The codes FCM gives for refusing a message: the closed table of the reference of its HTTP v1 API.
public enum FCMErrorCode: String, Sendable, CaseIterable {
    case unspecified = "UNSPECIFIED_ERROR"
    case invalidArgument = "INVALID_ARGUMENT"
    case unregistered = "UNREGISTERED"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case internalError = "INTERNAL"
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"

    /// What it asks of us; nil where the HTTP status says more.
    public var verdict: PushVerdict? {
        switch self {
        case .unspecified: nil
        case .invalidArgument: .requestFaulty
        case .unregistered: .tokenUnknown
        // The token is another project's, and good there.
        case .senderIDMismatch: .topicRefused
        // The project's own key for APNs or Web Push: what goes to Android phones is not concerned.
        case .thirdPartyAuthError: .relayRefused
        // Of the project, the device or the topic: the details say which, if anything does.
        case .quotaExceeded: .throttled
        case .unavailable, .internalError: .retryable
        }
    }
}
