import CallVocabulary
import JWTKit

/// Verifies the signature of provider tokens. Any thread.
struct ProviderTokenVerifier: Sendable {
    private let collection: JWTKeyCollection
    private let keyIDs: Set<String>

    /// - Throws: JWTKit's error when a key is not a P-256 public key in PEM.
    init(keys: [ProviderKey]) async throws {
        collection = JWTKeyCollection()
        keyIDs = Set(keys.map(\.id))
        for key in keys {
            await collection.add(ecdsa: try ES256PublicKey(pem: key.publicKeyPEM), kid: JWKIdentifier(string: key.id))
        }
    }

    private struct Claims: JWTPayload {
        var iss: String
        var iat: Double

        /// ``ProviderAuthorization`` checks age and team for each connection.
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    func facts(of token: String) async -> ProviderTokenFacts {
        // JWTKit uses its first key for an unknown `kid`; APNs refuses the token.
        guard let header = try? DefaultJWTParser().parse(Array(token.utf8), as: Claims.self).header,
            header.alg == "ES256", let keyID = header.kid, keyIDs.contains(keyID),
            let claims = try? await collection.verify(token, as: Claims.self), let issuedAt = Instant(epoch: claims.iat)
        else { return .invalid }
        return .signed(keyID: keyID, teamID: claims.iss, issuedAt: issuedAt)
    }
}

extension Instant {
    /// nil for a time beyond the range of `Instant`.
    init?(epoch seconds: Double) {
        guard let milliseconds = Int64(exactly: (seconds * 1000).rounded(.down)), abs(milliseconds) < 1 << 53 else {
            return nil
        }
        self.init(milliseconds: milliseconds)
    }
}
