import CallVocabulary

extension PushAnswer {
    /// Interprets an answer of a Web Push service (RFC 8030 section 5, RFC 8292 section 4.2).
    /// - Parameters:
    ///   - body: the service's error, of no common form.
    ///   - retryAfter: from the `Retry-After` field.
    public static func webPush(status: Int, body: [UInt8], retryAfter: Duration? = nil) -> PushAnswer {
        let verdict: PushVerdict =
            switch status {
            case 200, 201, 202: .accepted
            case 401, 403: .credentialRefused
            case 404, 410: .tokenGone
            case 429: .throttled
            case 500...: .retryable
            default: .requestFaulty
            }
        return PushAnswer(status: status, reason: "HTTP \(status)", verdict: verdict, retryAfter: retryAfter)
    }
}
