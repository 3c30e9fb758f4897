import CallVocabulary
import JWTKit

/// Parses a service account's assertions and verifies their signatures. Any thread.
struct AssertionVerifier: Sendable {
    private let keys = JWTKeyCollection()
    private let keyID: String

    /// - Throws: JWTKit's error when the key is not an RSA private key in PEM.
    init(privateKeyPEM: String, keyID: String) async throws {
        self.keyID = keyID
        // Google's service accounts use RSA keys; jwt-kit marks all RSA as insecure.
        let key = try Insecure.RSA.PrivateKey(pem: privateKeyPEM)
        await keys.add(rsa: key, digestAlgorithm: .sha256, kid: JWKIdentifier(string: keyID))
    }

    private struct Claims: JWTPayload {
        var iss: String
        var aud: String
        var scope: String?
        var iat: Double
        var exp: Double

        /// ``ServiceAccountGrant`` checks the claims.
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    /// - Returns: nil for anything but a JWT with the required claims.
    func read(_ assertion: String) async -> ServiceAccountGrant.Assertion? {
        guard let parsed = try? DefaultJWTParser().parse(Array(assertion.utf8), as: Claims.self),
            let issuedAt = Instant(epoch: parsed.payload.iat), let expiresAt = Instant(epoch: parsed.payload.exp)
        else { return nil }
        let isOurKey = parsed.header.kid == nil || parsed.header.kid == keyID
        let isVerified = (try? await keys.verify(assertion, as: Claims.self)) != nil
        return ServiceAccountGrant.Assertion(
            issuer: parsed.payload.iss, audience: parsed.payload.aud, scope: parsed.payload.scope ?? "",
            issuedAt: issuedAt, expiresAt: expiresAt,
            isSigned: isVerified && isOurKey && parsed.header.alg == "RS256")
    }
}
