import CallVocabulary
import PushVocabulary

/// A provider's answer to one push.
public struct PushAnswer: Equatable, Sendable {
    /// The longest body that is read, in bytes; documented bodies are below 100.
    public static let longestBody = 4096

    public let status: Int
    /// The provider's reason, documented or not; `HTTP 502` when it gave none.
    public let reason: String
    public let verdict: PushVerdict
    /// Since when the token is invalid, if APNs states it (410).
    public let tokenDeadSince: Instant?
    /// The wait that the provider asks for (`Retry-After`); nil without one.
    public let retryAfter: Duration?

    public init(
        status: Int, reason: String, verdict: PushVerdict, tokenDeadSince: Instant? = nil, retryAfter: Duration? = nil
    ) {
        self.status = status
        self.reason = reason
        self.verdict = verdict
        self.tokenDeadSince = tokenDeadSince
        self.retryAfter = retryAfter
    }

    /// Interprets an answer of APNs.
    /// - Parameter body: JSON as documented; anything else is tolerated, such as a proxy's HTML or a truncated body.
    public static func apns(status: Int, body: [UInt8]) -> PushAnswer {
        guard status != 200 else { return PushAnswer(status: 200, reason: "OK", verdict: .accepted) }
        let fields = APNSErrorBody(body)
        let known = fields.reason.flatMap { APNSReason(utf8: $0.utf8) }
        return PushAnswer(
            status: status, reason: fields.reason ?? "HTTP \(status)",
            verdict: known?.verdict ?? verdict(ofStatus: status),
            tokenDeadSince: fields.timestamp.map(Instant.init(milliseconds:)))
    }

    /// Whether a ``PushVerdict/tokenGone`` applies to the present registration of the token. A 410 that dates from
    /// before the registration concerns an earlier one.
    public func isAfter(registeredAt: Instant?) -> Bool {
        guard let tokenDeadSince, let registeredAt else { return true }
        return tokenDeadSince > registeredAt
    }

    /// The verdict by HTTP status, for an unknown or missing reason.
    private static func verdict(ofStatus status: Int) -> PushVerdict {
        switch status {
        case 403: .credentialRefused
        case 410: .tokenGone
        case 429: .deviceThrottled
        case 500...: .retryable
        default: .requestFaulty
        }
    }
}
