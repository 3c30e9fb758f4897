/// An error of Google's APIs, as JSON.
struct GoogleError: Error, Encodable, Equatable {
    struct Detail: Encodable, Equatable {
        struct FieldViolation: Encodable, Equatable {
            var field: String
            var description: String
        }

        var type: String
        var errorCode: String?
        var reason: String?
        var domain: String?
        var fieldViolations: [FieldViolation]?
        /// For a quota: its subject and its description.
        var violations: [[String: String]]?
        var metadata: [String: String]?

        private enum CodingKeys: String, CodingKey {
            case type = "@type"
            case errorCode, reason, domain, fieldViolations, violations, metadata
        }
    }

    private struct Content: Encodable, Equatable {
        var code: Int
        var message: String
        var status: String
        var details: [Detail]
    }

    private var error: Content

    var status: Int { error.code }
    /// The key of the error's count.
    let reason: String

    private enum CodingKeys: String, CodingKey {
        case error
    }

    init(_ refusal: FCMRefusal, message: String? = nil, status: Int? = nil) {
        reason = refusal.rawValue
        error = Content(
            code: status ?? refusal.status, message: message ?? refusal.message, status: refusal.kind,
            details: [Detail(type: "type.googleapis.com/google.firebase.fcm.v1.FcmError", errorCode: refusal.code)]
                + Self.quota(refusal))
    }

    /// The details that name the exhausted quota.
    private static func quota(_ refusal: FCMRefusal) -> [Detail] {
        switch refusal {
        case .deviceQuotaExceeded:
            let violation = ["subject": "device", "description": "Device message rate exceeded"]
            return [Detail(type: "type.googleapis.com/google.rpc.QuotaFailure", violations: [violation])]
        case .projectQuotaExceeded:
            let limit = ["quota_limit": "SendsPerMinutePerProject", "quota_unit": "1/min/{project}"]
            return [
                Detail(
                    type: "type.googleapis.com/google.rpc.ErrorInfo", reason: "RATE_LIMIT_EXCEEDED",
                    domain: "googleapis.com", metadata: limit)
            ]
        case .unspecified, .invalidArgument, .unregistered, .senderIDMismatch, .quotaExceeded, .unavailable, .internal,
            .thirdPartyAuthError:
            return []
        }
    }

    /// An invalid or unknown field.
    static func field(_ field: String, _ message: String) -> Self {
        var error = Self(.invalidArgument, message: message)
        error.error.details.append(
            Detail(
                type: "type.googleapis.com/google.rpc.BadRequest",
                fieldViolations: [Detail.FieldViolation(field: field, description: message)]))
        return error
    }

    /// The caller is unknown, or lacks permission.
    static func access(_ status: Int, _ kind: String, _ message: String, reason: String) -> Self {
        var error = Self(.unspecified, message: message, status: status)
        error.error.status = kind
        error.error.details = [
            Detail(type: "type.googleapis.com/google.rpc.ErrorInfo", reason: reason, domain: "googleapis.com")
        ]
        return Self(error.error, reason: kind)
    }

    private init(_ error: Content, reason: String) {
        self.error = error
        self.reason = reason
    }
}
