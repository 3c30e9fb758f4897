/// Why the simulated push service refuses a push, with the statuses of RFC 8030 and RFC 8292, and the error numbers of
/// Mozilla's service (autopush-rs, `docs/src/errors.md`).
public enum WebPushRefusal: String, Error, Sendable, CaseIterable {
    case badMethod = "bad_method"
    /// The service never issued this endpoint.
    case notFound = "not_found"
    /// The subscription is over.
    case gone
    case missingAuthorization = "missing_authorization"
    /// `Authorization` is not `vapid t=…, k=…`.
    case badAuthorization = "bad_authorization"
    /// `t` is not a JWT, is not signed with ES256, or not by the key `k`.
    case badToken = "bad_token"
    /// `aud` is not the origin of the endpoint.
    case badAudience = "bad_audience"
    /// `exp` is missing, past, or more than 24 hours ahead.
    case badExpiration = "bad_expiration"
    /// `sub` is missing, or no address to reach the sender at.
    case badSubject = "bad_subject"
    /// `k` is not the key that the subscription was made with.
    case badKey = "bad_key"
    case missingTTL = "missing_ttl"
    case badTTL = "bad_ttl"
    case badTopic = "bad_topic"
    case badUrgency = "bad_urgency"
    /// A body whose `Content-Encoding` is not `aes128gcm`.
    case badEncoding = "bad_encoding"
    case payloadTooLarge = "payload_too_large"
    case tooManyRequests = "too_many_requests"
    case internalError = "internal_error"
    case unavailable

    public var status: Int {
        switch self {
        case .missingTTL, .badTTL, .badTopic, .badUrgency, .badEncoding: 400
        // RFC 8292, section 4.2: 401 without credentials, 403 with those of another sender.
        case .missingAuthorization, .badAuthorization: 401
        case .badToken, .badAudience, .badExpiration, .badSubject, .badKey: 403
        case .notFound: 404
        case .badMethod: 405
        case .gone: 410
        case .payloadTooLarge: 413
        case .tooManyRequests: 429
        case .internalError: 500
        case .unavailable: 503
        }
    }

    /// Mozilla's number of the error.
    var number: Int {
        switch self {
        case .notFound: 102
        case .payloadTooLarge: 104
        case .gone: 106
        case .missingAuthorization, .badAuthorization, .badToken, .badAudience, .badExpiration, .badSubject, .badKey:
            109
        case .badEncoding: 110
        case .missingTTL: 111
        case .badTTL: 112
        case .badTopic: 113
        case .tooManyRequests, .unavailable: 201
        case .badMethod, .badUrgency, .internalError: 999
        }
    }

    /// For a fault, which has no request to explain.
    public var message: String {
        switch self {
        case .badMethod: "Send a push with POST"
        case .notFound: "No such subscription"
        case .gone: "The subscription has ended: remove it, and do not push to it again"
        case .missingAuthorization: "Missing Authorization header with a VAPID token"
        case .badAuthorization: "Authorization is not of the form: vapid t=<JWT>, k=<public key>"
        case .badToken: "The JWT is not signed by the key k with ES256"
        case .badAudience: "aud of the VAPID token is not the origin of the endpoint"
        case .badExpiration: "exp of the VAPID token is missing, past, or more than 24 hours ahead"
        case .badSubject: "sub of the VAPID token is neither a mailto: nor an https: address of the sender"
        case .badKey: "VAPID public key mismatch: k is not the applicationServerKey of the subscription"
        case .missingTTL: "Missing TTL header"
        case .badTTL: "TTL is not a number of seconds"
        case .badTopic: "Topic is not at most 32 characters of base64url"
        case .badUrgency: "Urgency is not very-low, low, normal or high"
        case .badEncoding: "Content-Encoding is not aes128gcm"
        case .payloadTooLarge: "The body is longer than 4096 bytes"
        case .tooManyRequests: "Too many requests: send later"
        case .internalError: "Internal error"
        case .unavailable: "The service is unavailable: send later"
        }
    }
}

/// A refusal with an explanation. As JSON: the body of Mozilla's errors.
struct WebPushError: Error, Equatable, Encodable {
    let refusal: WebPushRefusal
    let status: Int
    let message: String

    init(_ refusal: WebPushRefusal, _ message: String? = nil, status: Int? = nil) {
        self.refusal = refusal
        self.status = status ?? refusal.status
        self.message = message ?? refusal.message
    }

    private enum CodingKeys: String, CodingKey {
        case code, errno, error, message
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(status, forKey: .code)
        try container.encode(refusal.number, forKey: .errno)
        try container.encode(refusal.rawValue, forKey: .error)
        try container.encode(message, forKey: .message)
    }
}
