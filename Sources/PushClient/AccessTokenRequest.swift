import CallVocabulary
import Foundation
import HTTP2
import JWTKit

/// What a service account shows to get an access token (RFC 7523): a JWT signed with its key by RS256.
struct AccessTokenRequest: Redacted, Sendable {
    /// What messages are sent with; the registration API takes it as well.
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// How long the JWT is good: Google takes an hour at most.
    private static let life = Duration.seconds(3600)

    private struct Claims: JWTPayload {
        let iss: String
        let scope: String
        let aud: String
        let iat: Int64
        let exp: Int64

        /// Nothing to check: these are only ever signed here.
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
        // A JWT has no character that a form would have to escape.
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
        // `init` has seen to the host.
        HTTPSHost(name: tokenURL.host() ?? "", port: UInt16(exactly: tokenURL.port ?? 443) ?? 443)
    }
}
