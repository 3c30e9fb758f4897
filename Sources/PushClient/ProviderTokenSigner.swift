import CallVocabulary
import Foundation
import JWTKit

/// Signs provider tokens: ES256 JWTs, for APNs with the team as issuer, for Web Push as VAPID has them (RFC 8292).
struct ProviderTokenSigner: Redacted, Sendable {
    /// The life of a VAPID token, which may be a day at most (RFC 8292 section 2).
    static let vapidLife = Duration.seconds(12 * 3600)

    private struct APNSClaims: JWTPayload {
        let iss: IssuerClaim
        let iat: Int64

        /// These tokens are only signed here, never verified.
        func verify(using _: some JWTAlgorithm) {}
    }

    private struct VAPIDClaims: JWTPayload {
        let aud: String
        let exp: Int64
        let sub: String

        func verify(using _: some JWTAlgorithm) {}
    }

    private enum Issuer {
        case apns(keyID: JWKIdentifier, teamID: String)
        case webPush(audience: String, subject: String)
    }

    private let privateKey: ES256PrivateKey
    private let issuer: Issuer

    /// - Throws: JWTKit's error when the PEM holds no P-256 key.
    init(_ key: APNSKey) throws {
        privateKey = try ES256PrivateKey(pem: key.pem)
        issuer = .apns(keyID: JWKIdentifier(string: key.keyID), teamID: key.teamID)
    }

    /// - Parameter audience: the origin of the push service.
    init(_ key: WebPushKey, audience: String, subject: String) {
        do {
            privateKey = try ES256PrivateKey(pem: key.pem)
        } catch {
            // The error may quote the key.
            preconditionFailure("swift-crypto wrote the PEM, and JWTKit reads it with swift-crypto")
        }
        issuer = .webPush(audience: audience, subject: subject)
    }

    func sign(issuedAt: Instant) async throws -> String {
        let keys = JWTKeyCollection()
        switch issuer {
        case .apns(let keyID, let teamID):
            await keys.add(ecdsa: privateKey, kid: keyID)
            return try await keys.sign(
                APNSClaims(iss: IssuerClaim(value: teamID), iat: issuedAt.wholeSeconds), kid: keyID)
        case .webPush(let audience, let subject):
            await keys.add(ecdsa: privateKey)
            return try await keys.sign(
                VAPIDClaims(aud: audience, exp: (issuedAt + Self.vapidLife).wholeSeconds, sub: subject))
        }
    }
}
