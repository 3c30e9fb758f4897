import ClientTokens
import OutgoingHTTP

/// Whose user tokens a server takes.
public struct TokenConfiguration: Equatable, Sendable {
    /// The file with the server's secrets; nil for ``standardSecretFile`` in the data folder.
    public var secretFile: String?
    /// With the keys of its files; nil if only the server's secrets sign tokens.
    public var provider: IdentityProvider?
    /// Where the provider serves its keys, besides those of ``provider``; nil for nowhere.
    public var keysAddress: WebAddress?
    /// How far an issuer's clock may be ahead.
    public var leeway = TokenVerifier.standardLeeway

    public init() {}

    /// The name of the file with the secrets, in the data folder.
    public static let standardSecretFile = "client-token.key"
}
