/// An error of Google's APIs, as it is written in JSON.
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
        /// Of a quota: whose it is, and what of.
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
    /// What it is counted as.
    let reason: String

    private enum CodingKeys: String, CodingKey {
        case error
    }

    /// A refusal of FCM's own.
    init(_ refusal: FCMRefusal, message: String? = nil, status: Int? = nil) {
        reason = refusal.rawValue
        error = Content(
            code: status ?? refusal.status, message: message ?? refusal.message, status: refusal.kind,
            details: [Detail(type: "type.googleapis.com/google.firebase.fcm.v1.FcmError", errorCode: refusal.code)]
                + Self.quota(refusal))
    }

    /// What says whose quota was used up.
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

    /// A field that the API cannot read or does not take.
    static func field(_ field: String, _ message: String) -> Self {
        var error = Self(.invalidArgument, message: message)
        error.error.details.append(
            Detail(
                type: "type.googleapis.com/google.rpc.BadRequest",
                fieldViolations: [Detail.FieldViolation(field: field, description: message)]))
        return error
    }

    /// The caller is not known, or may not do it.
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
