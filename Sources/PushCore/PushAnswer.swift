import CallVocabulary
import PushVocabulary

/// What a provider said to one push.
public struct PushAnswer: Equatable, Sendable {
    /// The longest body that is looked at, in bytes; documented bodies are below 100.
    public static let longestBody = 4096

    public let status: Int
    /// The reason as it came, known or not; `HTTP 502` where none came.
    public let reason: String
    public let verdict: PushVerdict
    /// Since when the token is dead, where APNs says so (410).
    public let tokenDeadSince: Instant?
    /// How long the provider wants to be left alone, where it says so (`Retry-After`).
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

    /// An answer of APNs.
    /// - Parameter body: JSON as documented, but anything may come: HTML of a proxy, half a body, none.
    public static func apns(status: Int, body: [UInt8]) -> PushAnswer {
        guard status != 200 else { return PushAnswer(status: 200, reason: "OK", verdict: .accepted) }
        let fields = APNSErrorBody(body)
        let known = fields.reason.flatMap(APNSReason.init(rawValue:))
        return PushAnswer(
            status: status, reason: fields.reason ?? "HTTP \(status)",
            verdict: known?.verdict ?? verdict(ofStatus: status),
            tokenDeadSince: fields.timestamp.map(Instant.init(milliseconds:)))
    }

    /// Whether an answer of ``PushVerdict/tokenGone`` speaks of the token as it was registered. A 410 that dates from
    /// before the registration speaks of an earlier life of the same token.
    public func isAfter(registeredAt: Instant?) -> Bool {
        guard let tokenDeadSince, let registeredAt else { return true }
        return tokenDeadSince > registeredAt
    }

    /// For a reason that is not in the table, or an answer without one.
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
