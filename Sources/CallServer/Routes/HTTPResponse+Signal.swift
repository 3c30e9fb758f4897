import CallVocabulary
import LibWebSockets
import SignalProtocol

/// HTTP responses with content of the signaling protocol: the HTTP status for the client's network code, the body for
/// its call code.
extension HTTPResponse {
    /// The result of a request.
    static func result(_ reply: Reply, now: Instant) -> HTTPResponse {
        var body: [UInt8] = []
        SignalEncoder.encode(reply, now: now, into: &body)
        return uncached(body, status: 200)
    }

    /// The object of `GET /v1/turn`.
    static func iceServers(_ servers: [ICEServer], now: Instant) -> HTTPResponse {
        var body: [UInt8] = []
        SignalEncoder.encode(servers, now: now, into: &body)
        return uncached(body, status: 200)
    }

    /// The error object.
    static func refusal(_ error: SignalError, headers: [(name: String, value: String)] = []) -> HTTPResponse {
        var body: [UInt8] = []
        SignalEncoder.encode(error, into: &body)
        var response = uncached(body, status: error.code.httpStatus)
        response.headers += headers
        if let wait = error.code.retryAfter {
            // Whole seconds, rounded up (RFC 9110, 10.2.3).
            response.headers.append(("Retry-After", String((wait.wholeMilliseconds + 999) / 1000)))
        }
        // RFC 9110, 15.5.2: each 401 names the scheme. Without another word the token is at fault (RFC 6750, 3.1).
        if error.code == .unauthenticated, !headers.contains(where: { $0.name == "WWW-Authenticate" }) {
            response.headers.append(("WWW-Authenticate", "Bearer error=\"invalid_token\""))
        }
        return response
    }

    /// The error object in place of a refusal by the listener itself, which is plain text.
    static func errorObject(for refusal: HTTPResponse) -> HTTPResponse {
        guard refusal.contentType.hasPrefix("text/plain") else { return refusal }
        let text = String(decoding: refusal.body, as: UTF8.self)
        var response = HTTPResponse.refusal(
            SignalError(code(of: refusal), text.last == "\n" ? String(text.dropLast()) : text),
            headers: refusal.headers.filter { $0.name != "Retry-After" })
        response.status = refusal.status
        return response
    }

    private static func code(of refusal: HTTPResponse) -> SignalError.Code {
        let header = refusal.headers.first { $0.name == "Retry-After" }
        let wait = header.flatMap { Int64(digits: $0.value, atMost: 3600) } ?? 1
        return switch refusal.status {
        case 403: .forbidden
        case 404: .notFound
        case 405: .methodNotFound
        case 413: .tooLarge(limit: HTTPRequest.longestBody)
        case 429: .rateLimited(retryAfter: .seconds(wait))
        case 431: .tooLarge(limit: RequestHead.longest)
        case 503: .overloaded(retryAfter: .seconds(wait))
        // 400, 411, 426 and 505: no request that can be read.
        default: .invalidRequest
        }
    }

    /// Calls and credentials are private: no intermediary may cache a response.
    private static func uncached(_ body: [UInt8], status: Int) -> HTTPResponse {
        var response = HTTPResponse.json(body, status: status)
        response.headers = [("Cache-Control", "no-store")]
        return response
    }
}

extension SignalError {
    /// A token was not looked at, because of ``RateLimit/failedTokensPerAddress``.
    static func tooManyFailedTokens(_ wait: Duration) -> SignalError {
        SignalError(
            .rateLimited(retryAfter: wait),
            "Too many invalid tokens from your address; wait \(wait.wholeMilliseconds) ms.")
    }

    /// A user's requests count with the user's messages: ``RateLimit/messagesPerUser``.
    static func tooManyRequests(_ wait: Duration) -> SignalError {
        SignalError(.rateLimited(retryAfter: wait), "Too many requests; wait \(wait.wholeMilliseconds) ms.")
    }

    static func tokenKeyUnknown(_ wait: Duration) -> SignalError {
        SignalError(
            .overloaded(retryAfter: wait),
            "The token's key is not known yet. Keep the token, and try again in \(wait.wholeMilliseconds) ms.")
    }
}

extension SignalError.Code {
    var httpStatus: Int {
        switch self {
        case .parseError, .invalidRequest, .invalidParams: 400
        case .unauthenticated: 401
        case .forbidden: 403
        case .notFound: 404
        case .methodNotFound: 405
        case .callEnded, .alreadyAnswered, .badState, .conflict: 409
        case .tooLarge: 413
        case .rateLimited, .limitReached: 429
        case .internalError: 500
        case .overloaded, .draining: 503
        }
    }

    fileprivate var retryAfter: Duration? {
        switch self {
        case .rateLimited(let wait), .overloaded(let wait): wait
        case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError, .unauthenticated,
            .forbidden, .notFound, .callEnded, .alreadyAnswered, .badState, .tooLarge, .conflict, .limitReached,
            .draining:
            nil
        }
    }
}
