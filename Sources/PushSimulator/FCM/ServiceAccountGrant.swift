import CallVocabulary

/// Checks a service account's request for an access token as Google's OAuth endpoint does (RFC 7523). Pure.
struct ServiceAccountGrant {
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// Each of them permits sending messages.
    static let scopes: Set = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    private static let longestLife = Duration.seconds(3600)
    private static let clockTolerance = Duration.seconds(300)

    /// The parsed claims of an assertion. ``AssertionVerifier`` verifies the signature.
    struct Assertion: Equatable, Sendable {
        var issuer: String
        var audience: String
        var scope: String
        var issuedAt: Instant
        var expiresAt: Instant
        /// Whether the account's key signed it, with RS256.
        var isSigned: Bool
    }

    /// Google's `error` and `error_description`.
    struct Refusal: Error, Equatable, Encodable {
        var error: String
        var description: String

        private enum CodingKeys: String, CodingKey {
            case error
            case description = "error_description"
        }

        static func invalidGrant(_ text: String) -> Self { Self(error: "invalid_grant", description: text) }
    }

    /// The assertion in a form-encoded body.
    static func assertion(body: [UInt8]) throws(Refusal) -> String {
        let form = formFields(body)
        guard form["grant_type"] == grantType else {
            throw Refusal(
                error: "unsupported_grant_type", description: "Invalid grant_type: \(form["grant_type"] ?? "")")
        }
        guard let assertion = form["assertion"], !assertion.isEmpty else {
            throw Refusal(error: "invalid_request", description: "Missing required parameter: assertion")
        }
        return assertion
    }

    /// - Parameters:
    ///   - account: the service account's address.
    ///   - audience: the endpoint's own URL.
    static func check(
        _ assertion: Assertion?, account: String, audience: String, now: Instant
    ) throws(Refusal) {
        guard let assertion else { throw .invalidGrant("Invalid JWT: it cannot be read.") }
        guard assertion.issuer == account else { throw .invalidGrant("Invalid grant: account not found") }
        guard assertion.isSigned else { throw .invalidGrant("Invalid JWT Signature.") }
        guard assertion.audience == audience else { throw .invalidGrant("Invalid JWT: Failed audience check.") }
        let isShortLived =
            assertion.expiresAt - assertion.issuedAt <= longestLife && assertion.expiresAt > assertion.issuedAt
            && assertion.expiresAt + clockTolerance > now && assertion.issuedAt <= now + clockTolerance
        guard isShortLived else {
            throw .invalidGrant(
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your "
                    + "iat and exp values in the JWT claim.")
        }
        guard assertion.scope.split(separator: " ").contains(where: { scopes.contains(String($0)) }) else {
            throw Refusal(
                error: "invalid_scope", description: "Invalid OAuth scope or ID token audience provided.")
        }
    }

    private static func formFields(_ body: [UInt8]) -> [String: String] {
        var fields: [String: String] = [:]
        for pair in body.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first else { continue }
            fields[unescaped(name)] = parts.count == 2 ? unescaped(parts[1]) : ""
        }
        return fields
    }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        var plain: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): plain.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                guard digits.utf8.count == 2, let value = UInt8(digits, radix: 16) else {
                    plain.append(byte)
                    continue
                }
                plain.append(value)
                rest = rest.dropFirst(2)
            default: plain.append(byte)
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }
}
