import CallVocabulary

extension PushAnswer {
    /// An answer of FCM's HTTP v1 API.
    /// - Parameters:
    ///   - body: JSON as documented, but anything may come: HTML of a proxy, half a body, none.
    ///   - retryAfter: what the field of that name says.
    public static func fcm(status: Int, body: [UInt8], retryAfter: Duration? = nil) -> PushAnswer {
        guard status != 200 else { return PushAnswer(status: 200, reason: "OK", verdict: .accepted) }
        let error = FCMErrorBody(body)
        let code = error.errorCode.flatMap(FCMErrorCode.init(rawValue:))
        var verdict = code?.verdict ?? verdict(ofCanonical: error.status) ?? verdict(ofFCMStatus: status)
        // Not always the token: only where FCM says so is it the token that is at fault.
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

    /// By Google's canonical code, for an answer without FCM's own.
    private static func verdict(ofCanonical code: String?) -> PushVerdict? {
        switch code {
        case "UNAUTHENTICATED": .providerTokenStale
        case "PERMISSION_DENIED": .credentialRefused
        case "RESOURCE_EXHAUSTED": .throttled
        case "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED": .retryable
        // Without FCM's own code it is the project or the path that was not found.
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
