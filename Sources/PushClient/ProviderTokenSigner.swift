import CallVocabulary
import Foundation
import JWTKit

/// Signs provider tokens for APNs: ES256 JWTs with the team as issuer.
struct ProviderTokenSigner: Redacted, Sendable {
    private struct Claims: JWTPayload {
        let iss: IssuerClaim
        let iat: Int64

        /// These tokens are only signed here, never verified.
        func verify(using _: some JWTAlgorithm) {}
    }

    private let privateKey: ES256PrivateKey
    private let keyID: JWKIdentifier
    private let teamID: String

    /// - Throws: JWTKit's error when the PEM holds no P-256 key.
    init(_ key: APNSKey) throws {
        privateKey = try ES256PrivateKey(pem: key.pem)
        keyID = JWKIdentifier(string: key.keyID)
        teamID = key.teamID
    }

    func sign(issuedAt: Instant) async throws -> String {
        let keys = JWTKeyCollection()
        await keys.add(ecdsa: privateKey, kid: keyID)
        return try await keys.sign(
            Claims(iss: IssuerClaim(value: teamID), iat: issuedAt.wholeSeconds), kid: keyID)
    }
}
