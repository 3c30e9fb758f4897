import CallVocabulary

/// The claims of a token with a valid signature.
public struct TokenClaims: Equatable, Sendable {
    /// The key that signed the token.
    public enum Signer: Equatable, Sendable {
        /// A secret of the server, by its place in the file.
        case secret(Int)
        case key(TokenKey)
    }

    public let signer: Signer
    public let algorithm: TokenAlgorithm
    public let user: Handle
    public let expiresAt: Instant
    public let notBefore: Instant?
    public let issuedAt: Instant?
    public let name: String?
    /// The only device that may use the token; nil for any.
    public let device: DeviceID?
    /// `call_to`: whom the user may call, as handles and names of groups; one that ends in `*` stands for all that begin
    /// so. nil for anybody.
    public let callTargets: [String]?
    /// `calls_per_minute`: how many calls the user may place in a minute; nil for any number.
    public let callsPerMinute: Int?

    /// Compares the times with the clock. An issuer's clock may be ahead by `leeway`.
    func check(at now: Instant, leeway: Duration) throws(TokenRefusal) {
        if let notBefore, notBefore > now + leeway { throw .early("nbf", notBefore, now: now) }
        // A backend with the server's secret may have any clock; a provider's `iat` is checked as `nbf` is.
        if case .key = signer, let issuedAt, issuedAt > now + leeway { throw .early("iat", issuedAt, now: now) }
        guard expiresAt > now else { throw .expired(expiresAt, now: now) }
    }
}
