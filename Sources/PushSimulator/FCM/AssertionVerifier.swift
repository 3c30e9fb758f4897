import CallVocabulary
import JWTKit

/// Reads a service account's assertions and verifies their signatures. Any thread.
struct AssertionVerifier: Sendable {
    private let keys = JWTKeyCollection()
    private let keyID: String

    /// - Throws: JWTKit's error when the key is no RSA private key in PEM.
    init(privateKeyPEM: String, keyID: String) async throws {
        self.keyID = keyID
        // The standard of Google's service accounts; jwt-kit calls all of RSA insecure.
        let key = try Insecure.RSA.PrivateKey(pem: privateKeyPEM)
        await keys.add(rsa: key, digestAlgorithm: .sha256, kid: JWKIdentifier(string: keyID))
    }

    private struct Claims: JWTPayload {
        var iss: String
        var aud: String
        var scope: String?
        var iat: Double
        var exp: Double

        /// Judged by ``ServiceAccountGrant``.
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    /// - Returns: nil for what is no JWT with the claims that are needed.
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
