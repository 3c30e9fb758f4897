/// The error codes of FCM's HTTP v1 API.
public enum FCMRefusal: String, Sendable, CaseIterable {
    case unspecified = "UNSPECIFIED_ERROR"
    case invalidArgument = "INVALID_ARGUMENT"
    case unregistered = "UNREGISTERED"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case quotaExceeded = "QUOTA_EXCEEDED"
    /// `QUOTA_EXCEEDED` with details that name the device.
    case deviceQuotaExceeded = "DEVICE_QUOTA_EXCEEDED"
    /// `QUOTA_EXCEEDED` with details that name the project.
    case projectQuotaExceeded = "PROJECT_QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case `internal` = "INTERNAL"
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"

    /// The code on the wire, which several cases share.
    var code: String {
        switch self {
        case .deviceQuotaExceeded, .projectQuotaExceeded: Self.quotaExceeded.rawValue
        case .unspecified, .invalidArgument, .unregistered, .senderIDMismatch, .quotaExceeded, .unavailable, .internal,
            .thirdPartyAuthError:
            rawValue
        }
    }

    public var status: Int {
        switch self {
        case .invalidArgument: 400
        case .thirdPartyAuthError: 401
        case .senderIDMismatch: 403
        case .unregistered: 404
        case .quotaExceeded, .deviceQuotaExceeded, .projectQuotaExceeded: 429
        case .unspecified, .internal: 500
        case .unavailable: 503
        }
    }

    /// The general error code of Google's APIs.
    var kind: String {
        switch self {
        case .unspecified: "UNKNOWN"
        case .invalidArgument: "INVALID_ARGUMENT"
        case .thirdPartyAuthError: "UNAUTHENTICATED"
        case .senderIDMismatch: "PERMISSION_DENIED"
        case .unregistered: "NOT_FOUND"
        case .quotaExceeded, .deviceQuotaExceeded, .projectQuotaExceeded: "RESOURCE_EXHAUSTED"
        case .internal: "INTERNAL"
        case .unavailable: "UNAVAILABLE"
        }
    }

    /// Google's message.
    var message: String {
        switch self {
        case .unspecified: "Unknown error."
        case .invalidArgument: "Request contains an invalid argument."
        case .thirdPartyAuthError: "Auth error from APNS or Web Push Service"
        case .senderIDMismatch: "SenderId mismatch"
        case .unregistered: "Requested entity was not found."
        case .quotaExceeded: "Resource has been exhausted (e.g. check quota)."
        case .deviceQuotaExceeded: "Device message rate exceeded."
        case .projectQuotaExceeded:
            "Quota exceeded for quota metric 'Send requests' and limit 'Send requests per minute' of service "
                + "'fcm.googleapis.com'."
        case .internal: "Internal error encountered."
        case .unavailable: "The service is currently unavailable."
        }
    }
}
