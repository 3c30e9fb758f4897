import CallVocabulary
import ClientTokens

/// Only a signed token is accepted, the message of a refusal is bounded, and parsing keys twice gives the same keys.
enum TokenChecks {
    private static let now = Instant(milliseconds: 1_790_000_000_000)
    private static let secret = TokenSecret(Array("a secret of more than thirty-two bytes".utf8))
    private static let signedBy = TokenVerifier(secrets: [secret])
    /// RFC 8037, appendix A.2.
    private static let providerKeys =
        #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
    private static let withProvider: TokenVerifier = {
        do throws(TokenKeySet.Failure) {
            let keys = try TokenKeySet(Array(providerKeys.utf8), source: "keys").keys
            let provider = IdentityProvider(issuer: "https://issuer.example", audiences: ["reveille"], keys: keys)
            return TokenVerifier(secrets: [TokenSecret([1])], provider: provider)
        } catch {
            preconditionFailure("the key of RFC 8037: \(error)")
        }
    }()

    static func check(token bytes: [UInt8]) throws(Violation) {
        // The fuzzer has no key to sign these bytes.
        let text = String(decoding: bytes, as: UTF8.self)
        for verifier in [signedBy, withProvider] {
            try require(try refusal(verifier, text) != nil, "an unsigned token is accepted")
            _ = verifier.explain(text, at: now)
        }
        if let decoded = Base64URL.decode(Substring(text)) {
            try require(Base64URL.encode(decoded) == text, "Base64url has two forms")
        }
        // Signs the bytes: a header, and after the first line break the claims.
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        guard lines.count == 2 else { return }
        let token = secret.sign(header: String(decoding: lines[0], as: UTF8.self), claims: lines[1])
        _ = try refusal(signedBy, token)
        try require(try refusal(withProvider, token) != nil, "a token with another secret's signature is accepted")
    }

    /// nil for an accepted token.
    private static func refusal(_ verifier: TokenVerifier, _ token: String) throws(Violation) -> TokenRefusal? {
        let claims: TokenClaims
        do throws(TokenRefusal) {
            claims = try verifier.verify(token, at: now)
        } catch {
            try require(error.message.utf8.count < 1500, "the refusal has \(error.message.utf8.count) bytes")
            return error
        }
        try require(token.utf8.count <= TokenVerifier.longest, "a token of \(token.utf8.count) bytes is accepted")
        try require(claims.expiresAt + verifier.leeway >= now, "a token expired at \(claims.expiresAt) is accepted")
        try require(Handle(claims.user.text) == claims.user, "the user \(claims.user)")
        let name = claims.name
        try require(name.map { DisplayName($0)?.text == $0 } ?? true, "the name \(name ?? "")")
        return nil
    }

    static func check(keys bytes: [UInt8]) throws(Violation) {
        let sets = [1, 2].map { _ in
            Result { () throws(TokenKeySet.Failure) in try TokenKeySet(bytes, source: "keys") }
        }
        try require(sets[0] == sets[1], "the second result differs")
        guard case .success(let set) = sets[0] else { return }
        try require(set.keys.count <= TokenKeySet.mostKeys, "\(set.keys.count) keys")
        for key in set.keys { try require(!key.algorithms.isEmpty, "a key without an algorithm") }
        for key in set.leftOut { try require((1...1000).contains(key.reason.utf8.count), "left out: \(key.reason)") }
        // A forged signature of each length and algorithm is refused.
        var verifier = signedBy
        verifier.provider = IdentityProvider(issuer: "i", audiences: ["a"], keys: set.keys)
        for algorithm in TokenAlgorithm.allCases {
            for length in [0, 64, 96, 256] {
                let header = Base64URL.encode(#"{"alg":"\#(algorithm.rawValue)"}"#.utf8)
                let forged = "\(header).e30.\(Base64URL.encode([UInt8](repeating: 0, count: length)))"
                try require(try refusal(verifier, forged) != nil, "a signature of zeros is accepted")
            }
        }
    }
}
