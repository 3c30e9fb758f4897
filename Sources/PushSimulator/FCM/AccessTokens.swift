import CallVocabulary

/// The issued access tokens and their validity. Pure.
struct AccessTokens {
    /// The most tokens kept; the oldest are dropped and become unknown.
    private static let mostRemembered = 1000

    private var known: [String: Instant] = [:]
    private var order: [String] = []

    mutating func issue(until expiry: Instant, random: inout some RandomNumberGenerator) -> String {
        let token = "ya29.c." + String.random(64, of: .urlSafe, using: &random)
        if order.count == Self.mostRemembered { known[order.removeFirst()] = nil }
        known[token] = expiry
        order.append(token)
        return token
    }

    /// Makes all issued tokens invalid.
    mutating func revokeAll() {
        known = [:]
        order = []
    }

    /// Google's error for this `authorization`; nil for a valid one.
    func refusal(of authorization: String?, now: Instant) -> GoogleError? {
        guard let authorization else {
            return .access(
                401, "UNAUTHENTICATED",
                "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or "
                    + "other valid authentication credential.", reason: "CREDENTIALS_MISSING")
        }
        let words = authorization.split(separator: " ")
        let expiry = words.count == 2 && words[0].lowercased() == "bearer" ? known[String(words[1])] : nil
        if let expiry, now < expiry { return nil }
        return .access(
            401, "UNAUTHENTICATED",
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
                + "valid authentication credential.",
            reason: expiry == nil ? "ACCESS_TOKEN_TYPE_UNSUPPORTED" : "ACCESS_TOKEN_EXPIRED")
    }
}

extension String {
    enum Alphabet: String {
        case hexadecimal = "0123456789abcdef"
        /// Base64url of six bits whose first four are 0111.
        case installationStart = "cdef"
        case urlSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    }

    static func random(_ count: Int, of alphabet: Alphabet, using random: inout some RandomNumberGenerator) -> String {
        let letters = Array(alphabet.rawValue.utf8)
        return String(
            decoding: (0..<count).map { _ in letters[Int.random(in: 0..<letters.count, using: &random)] },
            as: UTF8.self)
    }
}
