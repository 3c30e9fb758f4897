/// An issuer of user tokens other than the server's own secret, and what its tokens must say.
public struct IdentityProvider: Equatable, Sendable {
    /// The `iss` of its tokens, byte for byte.
    public var issuer: String
    /// The values of `aud` that mean this server; at least one.
    public var audiences: [String]
    /// The claim with the user's handle.
    public var userClaim = "sub"
    public var keys: [TokenKey]
    /// The ids of keys that the provider had, and had no more when an operator asked.
    public var withdrawn: Set<String> = []

    public init(issuer: String, audiences: [String], userClaim: String = "sub", keys: [TokenKey] = []) {
        self.issuer = issuer
        self.audiences = audiences
        self.userClaim = userClaim
        self.keys = keys
    }
}
