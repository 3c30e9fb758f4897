import CallVocabulary
import Crypto

/// A secret that signs user tokens with HS256. May be used from any thread.
public struct TokenSecret: Equatable, Redacted, Sendable {
    private let key: SymmetricKey
    /// Tells keys apart, and says nothing of the secret.
    let fingerprint: KeyFingerprint

    public init(_ secret: [UInt8]) {
        key = SymmetricKey(data: secret)
        fingerprint = KeyFingerprint(of: secret)
    }

    /// - Parameters:
    ///   - header: JSON, like `claims`.
    public func sign(header: String = #"{"alg":"HS256","typ":"JWT"}"#, claims: some Sequence<UInt8>) -> String {
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims)
        return signed + "." + Base64URL.encode(HMAC<SHA256>.authenticationCode(for: Array(signed.utf8), using: key))
    }

    func isSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: message, using: key)
    }
}

/// A short hash of a key that verifies tokens: what a session keeps of the key that let it in.
package struct KeyFingerprint: Hashable, Sendable {
    private let hash: UInt64

    init(of key: some Sequence<UInt8>) {
        hash = SHA256.hash(data: Array(key)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
