import CallVocabulary
import Foundation

@testable import ClientTokens

/// The key sets and tokens that Tests/Tokens/make.py has made with jwcrypto and PyJWT.
struct TokenVectors: Decodable {
    struct Case: Decodable, CustomStringConvertible, Sendable {
        let name: String
        let set: String
        let token: String
        /// The user of a token that is taken, or words of its refusal.
        let expect: String
        let userClaim: String?

        var description: String { name }
        var isGood: Bool { ["alice", "bob", "carol"].contains(expect) }
    }

    struct Vector: Decodable {
        let name: String
        let jwk: [String: String]
        let algorithm: String
        let token: String
    }

    struct SecretVector: Decodable {
        let key: String
        let token: String
    }

    let issuer: String
    let audience: String
    let secret: String
    let now: Int64
    let sets: [String: String]
    let cases: [Case]
    let vectors: [Vector]
    let secretVector: SecretVector

    static let all: TokenVectors = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Vectors/tokens.json")
        do {
            return try JSONDecoder().decode(TokenVectors.self, from: Data(contentsOf: file))
        } catch {
            preconditionFailure("\(file.path) is not what make.py writes: \(error)")
        }
    }()

    func keySet(_ name: String) throws -> TokenKeySet {
        try TokenKeySet(Array((sets[name] ?? "").utf8), source: name)
    }

    func verifier(_ set: String, userClaim: String? = nil) throws -> TokenVerifier {
        let provider = IdentityProvider(
            issuer: issuer, audiences: [audience], userClaim: userClaim ?? "sub", keys: try keySet(set).keys)
        return TokenVerifier(secrets: [TokenSecret(Base64URL.decode(Substring(secret)) ?? [])], provider: provider)
    }

    /// The user of the token, or the refusal in words.
    func verdict(_ token: String, _ verifier: TokenVerifier) -> String {
        do throws(TokenRefusal) {
            return try verifier.verify(token, at: Instant(milliseconds: now * 1000)).user.text
        } catch {
            return error.message
        }
    }
}
