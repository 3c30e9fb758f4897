/// FCM's error codes: the closed table in the reference of its HTTP v1 API.
public enum FCMErrorCode: String, Sendable, CaseIterable {
    case unspecified = "UNSPECIFIED_ERROR"
    case invalidArgument = "INVALID_ARGUMENT"
    case unregistered = "UNREGISTERED"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case internalError = "INTERNAL"
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"

    /// The verdict on the push; nil where the HTTP status decides.
    public var verdict: PushVerdict? {
        switch self {
        case .unspecified: nil
        case .invalidArgument: .requestFaulty
        case .unregistered: .tokenUnknown
        // The token is valid, but belongs to another project.
        case .senderIDMismatch: .topicRefused
        // The project's credential for APNs or Web Push was refused; pushes to Android are not affected.
        case .thirdPartyAuthError: .relayRefused
        // The quota of the project, the device or the topic: only the details may tell which.
        case .quotaExceeded: .throttled
        case .unavailable, .internalError: .retryable
        }
    }
}
