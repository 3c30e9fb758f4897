import CallVocabulary
import ClientTokens
import Crypto
import FoundationEssentials

/// A sender's identification at a push service (RFC 8292): a JWT and the public key that verifies it. Pure.
struct VAPIDCredentials {
    /// How far ahead `exp` may be (RFC 8292, section 2).
    static let longestLife = Duration.seconds(86_400)

    let token: String
    /// An uncompressed point of P-256.
    let key: [UInt8]

    /// Reads the value of `Authorization`: `vapid t=<JWT>, k=<key>`, in any order.
    init(authorization: String) throws(WebPushError) {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "vapid" else {
            throw WebPushError(
                .badAuthorization, "The scheme of Authorization is '\(parts.first ?? "")'; it must be vapid (RFC 8292)")
        }
        var parameters: [String: String] = [:]
        for part in parts[1].split(separator: ",") {
            let pair = part.drop { $0 == " " || $0 == "\t" }.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, parameters[pair[0].lowercased()] == nil else {
                throw WebPushError(.badAuthorization)
            }
            var value = pair[1]
            while let last = value.last, last == " " || last == "\t" { value.removeLast() }
            if value.count > 1, value.hasPrefix("\""), value.hasSuffix("\"") { value = value.dropFirst().dropLast() }
            parameters[pair[0].lowercased()] = String(value)
        }
        guard let token = parameters["t"], let text = parameters["k"] else { throw WebPushError(.badAuthorization) }
        guard let key = Base64URL.decode(text[...]), key.count == 65, key[0] == 4,
            (try? P256.Signing.PublicKey(x963Representation: key)) != nil
        else {
            throw WebPushError(
                .badAuthorization,
                "k is not an uncompressed point of P-256, 65 bytes in base64url without padding (87 characters)")
        }
        self.token = token
        self.key = key
    }

    /// What the service reads in the token.
    struct Claims: Equatable {
        var audience: String?
        /// Seconds since the epoch.
        var expiration: Double?
        var subject: String?
    }

    /// Verifies the signature.
    func claims() throws(WebPushError) -> Claims {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.members(parts[0]), let claims = Self.members(parts[1]) else {
            throw WebPushError(.badToken, "t is not a JWT")
        }
        guard header["alg"]?.text == "ES256" else {
            throw WebPushError(.badToken, "alg of the JWT is not ES256")
        }
        guard let bytes = Base64URL.decode(parts[2]),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            let key = try? P256.Signing.PublicKey(x963Representation: key),
            key.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8))
        else { throw WebPushError(.badToken) }
        var expiration: Double?
        if case .number(let number) = claims["exp"] { expiration = number }
        return Claims(audience: claims["aud"]?.text, expiration: expiration, subject: claims["sub"]?.text)
    }

    private static func members(_ part: Substring) -> [String: JSONValue]? {
        Base64URL.decode(part).flatMap { PhoneLinkMessages.decode(JSONValue.self, from: $0)?.members }
    }
}

extension VAPIDCredentials.Claims {
    /// - Parameter origin: of the endpoint: `https://host:port`.
    func check(origin: String, now: Instant) throws(WebPushError) {
        guard audience == origin else {
            throw WebPushError(
                .badAudience, "aud of the VAPID token is '\(audience ?? "")'; the origin of the endpoint is '\(origin)'"
            )
        }
        guard let expiration else {
            throw WebPushError(.badExpiration, "exp of the VAPID token is missing, or is not a number")
        }
        let seconds = Double(now.milliseconds) / 1000
        guard expiration > seconds else { throw WebPushError(.badExpiration, "The VAPID token has expired") }
        guard expiration <= seconds + Double(VAPIDCredentials.longestLife.components.seconds) else {
            throw WebPushError(.badExpiration, "exp of the VAPID token is more than 24 hours ahead")
        }
        guard let subject else {
            throw WebPushError(
                .badSubject, "sub of the VAPID token is missing: some services refuse the push without it")
        }
        guard isContact(subject) else {
            throw WebPushError(.badSubject, "sub of the VAPID token is '\(subject)': \(Self.expected)")
        }
    }

    private static let expected = "expected mailto:<address> or https://<host>, not of localhost"

    /// Apple refuses `localhost`, and a space behind `mailto:`.
    private func isContact(_ subject: String) -> Bool {
        guard !subject.contains(" ") else { return false }
        let host: Substring
        if subject.hasPrefix("mailto:") {
            let parts = subject.dropFirst("mailto:".count).split(separator: "@", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else { return false }
            host = parts[1]
        } else if subject.hasPrefix("https://") {
            host = subject.dropFirst("https://".count).prefix { $0 != "/" && $0 != ":" }
        } else {
            return false
        }
        return !host.isEmpty && host != "localhost"
    }
}
