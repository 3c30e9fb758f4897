import CallVocabulary

extension PushAnswer {
    /// Interprets an answer of FCM's HTTP v1 API.
    /// - Parameters:
    ///   - body: JSON as documented; anything else is tolerated, such as a proxy's HTML or a truncated body.
    ///   - retryAfter: from the `Retry-After` field.
    public static func fcm(status: Int, body: [UInt8], retryAfter: Duration? = nil) -> PushAnswer {
        guard status != 200 else { return PushAnswer(status: 200, reason: "OK", verdict: .accepted) }
        let error = FCMErrorBody(body)
        let code = error.errorCode.flatMap { FCMErrorCode(utf8: $0.utf8) }
        var verdict = code?.verdict ?? verdict(ofCanonical: error.status) ?? verdict(ofFCMStatus: status)
        // INVALID_ARGUMENT blames the token only when a field violation names it.
        if verdict == .requestFaulty, error.namesToken { verdict = .tokenMismatched }
        if verdict == .throttled {
            switch error.quota {
            case .device: verdict = .deviceThrottled
            case .project: verdict = .providerThrottled
            case nil: break
            }
        }
        return PushAnswer(
            status: status, reason: error.errorCode ?? error.status ?? "HTTP \(status)", verdict: verdict,
            retryAfter: retryAfter)
    }

    /// The verdict by Google's canonical code, for an answer without FCM's own code.
    private static func verdict(ofCanonical code: String?) -> PushVerdict? {
        switch code {
        case "UNAUTHENTICATED": .providerTokenStale
        case "PERMISSION_DENIED": .credentialRefused
        case "RESOURCE_EXHAUSTED": .throttled
        case "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED": .retryable
        // Without FCM's own code, NOT_FOUND concerns the project or the path.
        case "INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION": .requestFaulty
        default: nil
        }
    }

    private static func verdict(ofFCMStatus status: Int) -> PushVerdict {
        switch status {
        case 401: .providerTokenStale
        case 403: .credentialRefused
        case 429: .throttled
        case 500...: .retryable
        default: .requestFaulty
        }
    }
}
