import Configuration

/// The tokens with which users open sessions.
extension Setting {
    package static let tokenSecretFile = Setting(
        "tokens.secret_file", .path, note: "client-token.key in the data folder",
        example: "/etc/reveille/client-token.key", part: .tokens,
        "The secrets of HS256 tokens, in hexadecimal, one a line. The first one signs, all are taken.")
    package static let tokenKeys = Setting(
        "tokens.keys", .paths, example: "[/etc/reveille/jwks.json]", part: .tokens,
        "Public keys of an identity provider: JWK Sets or PEM. Needs tokens.issuer and tokens.audience.")
    package static let tokenKeysURL = Setting(
        "tokens.jwks_url", .text(longest: 1024), example: "https://id.example.com/jwks.json", part: .tokens,
        isSecret: true,
        "Where the identity provider serves its JWK Set. Needs tokens.issuer and tokens.audience.")
    package static let tokenIssuer = Setting(
        "tokens.issuer", .text(longest: 1024), example: "https://id.example.com/", part: .tokens,
        "The iss that the identity provider's tokens must have, character for character.")
    package static let tokenAudience = Setting(
        "tokens.audience", .text(longest: 1024), example: "reveille", part: .tokens,
        "The aud that the identity provider's tokens must have; one of several with commas between.")
    package static let tokenUserClaim = Setting(
        "tokens.user_claim", .text(longest: 256), .string("sub"), part: .tokens,
        "The claim of the identity provider's tokens that holds the user's handle.")
    package static let tokenLeewaySeconds = Setting(
        "tokens.leeway_seconds", .integer(0...600), .int(60), part: .tokens,
        "How far the clock of a token's issuer may be ahead, for nbf and iat.")
    package static let backendTokensFile = Setting(
        "backend.tokens_file", .path, note: "backend-tokens in the data folder",
        example: "/etc/reveille/backend-tokens", part: .backends,
        "The tokens of backends, one a line: NAME ROLE USERS SHA256. See: reveille token backend.")
}
