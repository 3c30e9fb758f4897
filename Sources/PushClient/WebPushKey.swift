import CallVocabulary
import Crypto
import Foundation

/// The key of a Web Push sender: P-256, for ES256.
public struct WebPushKey: Equatable, Sendable {
    @Secret public private(set) var pem: String
    /// The `applicationServerKey` with which browsers subscribe: 65 bytes in base64url.
    public let applicationServerKey: String

    /// - Parameters:
    ///   - pem: a P-256 private key, SEC 1 or PKCS #8.
    ///   - source: the file's name, for errors.
    /// - Throws: ``PushConfigurationError``.
    public init(pem: String, source: String) throws {
        // `openssl ecparam -genkey` without -noout writes the parameters of the curve before the key.
        let end = "-----END EC PARAMETERS-----"
        let keyPEM = pem.range(of: end).map { String(pem[$0.upperBound...]) } ?? pem
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: keyPEM) else {
            // The library's message may quote the key, so it is omitted.
            throw PushConfigurationError(
                source: source, field: "key",
                problem: "this is no P-256 private key in PEM (openssl ecparam -name prime256v1 -genkey -noout)")
        }
        self.init(key)
    }

    private init(_ key: P256.Signing.PrivateKey) {
        pem = key.pemRepresentation
        applicationServerKey = WebPushSubscription.base64URL(key.publicKey.x963Representation)
    }

    /// A new key, from the system's generator.
    public static func random() -> WebPushKey { WebPushKey(P256.Signing.PrivateKey()) }
}
