import CallVocabulary

/// What the server would say of a token, and why.
public struct TokenExplanation: Sendable {
    /// The members of the header and of the claims, with their values as JSON; empty for a part that cannot be read.
    /// Claims are shown whether or not the signature is good.
    public let header: [(name: String, value: String)]
    public let claims: [(name: String, value: String)]
    /// The key that signed it; nil for a token without a good signature.
    public let signer: String?
    public let verdict: Result<TokenClaims, TokenRefusal>
}

extension TokenVerifier {
    public func explain(_ token: String, at now: Instant) -> TokenExplanation {
        let parts = Result { () throws(TokenRefusal) in try TokenParts(token) }
        let verdict = Result { () throws(TokenRefusal) in try verify(token, at: now) }
        var signer: String?
        // A token with a good signature may be refused for its claims.
        if case .success(let parts) = parts {
            let found = Result { () throws(TokenRefusal) in
                try self.signer(of: parts, TokenHeader(parts.header, taken: algorithms, hasProvider: provider != nil))
            }
            if case .success(let found) = found { signer = name(of: found) }
        }
        return TokenExplanation(
            header: Self.members(of: parts.map(\.header), "header"),
            claims: Self.members(of: parts.map(\.claims), "claims"),
            signer: signer, verdict: verdict)
    }

    private func name(of signer: TokenClaims.Signer) -> String {
        switch signer {
        case .secret(let index):
            secrets.count == 1 ? "the server's secret" : "secret \(index + 1) of the server's \(secrets.count)"
        case .key(let key):
            "\(key.id == nil ? key.name : "\(key.name) of \(key.source)"), which is for \(key.algorithms.names)"
        }
    }

    private static func members(
        of part: Result<[UInt8], TokenRefusal>, _ name: String
    ) -> [(name: String, value: String)] {
        guard case .success(let bytes) = part else { return [] }
        do throws(TokenRefusal) {
            return try TokenObject(bytes, part: name).shown
        } catch {
            return []
        }
    }
}

extension TokenKey {
    /// `the key "k1" for ES256`, for a list of keys.
    public var summary: String { "\(name) for \(algorithms.names)" }
}
