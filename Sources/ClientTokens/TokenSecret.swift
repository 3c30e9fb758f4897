import CallVocabulary
import Crypto

/// A secret that signs user tokens with HS256. May be used from any thread.
public struct TokenSecret: Equatable, Redacted, Sendable {
    private let key: SymmetricKey

    public init(_ secret: [UInt8]) { key = SymmetricKey(data: secret) }

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
