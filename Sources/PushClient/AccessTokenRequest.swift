import CallVocabulary
import Foundation
import HTTP2
import JWTKit

/// The JWT that a service account exchanges for an access token (RFC 7523), signed by RS256.
struct AccessTokenRequest: Redacted, Sendable {
    /// The scope for sending messages; the registration API accepts it as well.
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// The lifetime of the JWT: Google accepts at most an hour.
    private static let life = Duration.seconds(3600)

    private struct Claims: JWTPayload {
        let iss: String
        let scope: String
        let aud: String
        let iat: Int64
        let exp: Int64

        /// These tokens are only signed here, never verified.
        func verify(using _: some JWTAlgorithm) {}
    }

    private let key: Insecure.RSA.PrivateKey

    /// - Throws: JWTKit's error when the PEM holds no RSA key.
    init(privateKey: String) throws {
        key = try Insecure.RSA.PrivateKey(pem: privateKey)
    }

    /// Signs off the loop: an RSA signature takes a millisecond.
    func signed(for account: FCMServiceAccount, now: Instant) async throws -> HTTP2Request {
        let keyID = account.privateKeyID.map { JWKIdentifier(string: $0) }
        let keys = JWTKeyCollection()
        await keys.add(rsa: key, digestAlgorithm: .sha256, kid: keyID)
        let claims = Claims(
            iss: account.email, scope: Self.scope, aud: account.tokenURL.absoluteString, iat: now.wholeSeconds,
            exp: (now + Self.life).wholeSeconds)
        let assertion = try await keys.sign(claims, kid: keyID)
        // No character of a JWT needs escaping in a form.
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + assertion
        let path = account.tokenURL.path(percentEncoded: true)
        let query = account.tokenURL.query(percentEncoded: true).map { "?\($0)" } ?? ""
        return HTTP2Request(
            method: "POST", authority: account.tokenHost.authority, path: (path.isEmpty ? "/" : path) + query,
            fields: [HTTPField("content-type", "application/x-www-form-urlencoded")], body: Array(form.utf8))
    }
}

extension FCMServiceAccount {
    /// The host and port of ``tokenURL``.
    var tokenHost: HTTPSHost {
        // `init` has checked the host.
        HTTPSHost(name: tokenURL.host() ?? "", port: UInt16(exactly: tokenURL.port ?? 443) ?? 443)
    }
}
