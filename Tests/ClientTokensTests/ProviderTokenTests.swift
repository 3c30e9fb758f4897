import ByteMutation
import CallVocabulary
import Determinism
import Foundation
import Testing

@testable import ClientTokens

/// Tokens made by jwcrypto and PyJWT, and what an attacker makes of them.
@Suite("A token of an identity provider")
struct ProviderTokenTests {
    private static let vectors = TokenVectors.all

    @Test("is taken, or refused for the right reason", arguments: vectors.cases)
    func cases(_ vector: TokenVectors.Case) throws {
        let verifier = try Self.vectors.verifier(vector.set, userClaim: vector.userClaim)
        let verdict = Self.vectors.verdict(vector.token, verifier)
        if vector.isGood {
            #expect(verdict == vector.expect)
        } else {
            #expect(verdict.contains(vector.expect))
            #expect(verdict.hasPrefix("The token ") && verdict.utf8.count < 500)
        }
    }

    @Test("is refused by the same words whatever was verified before")
    func order() throws {
        let verifier = try Self.vectors.verifier("all")
        let cases = Self.vectors.cases.filter { $0.set == "all" && $0.userClaim == nil }
        #expect(cases.count > 100)
        let forward = cases.map { Self.vectors.verdict($0.token, verifier) }
        let backward = cases.reversed().map { Self.vectors.verdict($0.token, verifier) }
        #expect(forward == backward.reversed())
    }

    @Test("is refused when any of its characters is another")
    func changed() throws {
        let verifier = try Self.vectors.verifier("all")
        let good = Self.vectors.cases.filter { $0.isGood && $0.set == "all" && $0.name.contains("by PyJWT") }
        #expect(good.count == 6)
        for vector in good {
            let token = Array(vector.token.utf8)
            for index in token.indices where token[index] != UInt8(ascii: ".") {
                var forged = token
                forged[index] = forged[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                let verdict = Self.vectors.verdict(String(decoding: forged, as: UTF8.self), verifier)
                #expect(verdict.hasPrefix("The token "), "\(vector.name), character \(index)")
            }
        }
    }

    @Test("without an identity provider is refused for its alg, and the secret's tokens need no iss and no aud")
    func noProvider() throws {
        var verifier = try Self.vectors.verifier("all")
        verifier.provider = nil
        let cases = Self.vectors.cases.filter(\.isGood)
        for vector in cases where vector.expect != "bob" {
            let verdict = Self.vectors.verdict(vector.token, verifier)
            #expect(verdict.contains("in its header; only \"HS256\" is taken"), "\(vector.name)")
        }
        let own = try #require(cases.first { $0.expect == "bob" })
        #expect(Self.vectors.verdict(own.token, verifier) == "bob")
    }

    @Test("of either secret is taken during a rotation, and the signer is named")
    func secrets() throws {
        let (old, new, other) = (TokenSecret([1]), TokenSecret([2]), TokenSecret([3]))
        let verifier = TokenVerifier(secrets: [new, old])
        let claims = Array(#"{"sub":"bob","exp":4000000000}"#.utf8)
        #expect(try verifier.read(new.sign(claims: claims)).signer == .secret(0))
        #expect(try verifier.read(old.sign(claims: claims)).signer == .secret(1))
        #expect(throws: TokenRefusal.signature) { try verifier.read(other.sign(claims: claims)) }
        #expect(throws: TokenRefusal.algorithm(found: "\"HS256\"", taken: [])) {
            try TokenVerifier(secrets: []).read(new.sign(claims: claims))
        }
    }

    @Test("of RFC 7515 and RFC 8037 has the signature of its key, and of no other")
    func standards() throws {
        for vector in Self.vectors.vectors {
            let set = try TokenKeySet(Array(try JSONEncoder().encode(vector.jwk)), source: vector.name)
            let key = try #require(set.keys.first, "\(vector.name)")
            let parts = try TokenParts(vector.token)
            let algorithm = try #require(TokenAlgorithm(rawValue: vector.algorithm))
            for other in TokenAlgorithm.allCases {
                #expect(
                    key.isSignature(parts.signature, of: parts.signed, by: other) == (other == algorithm),
                    "\(vector.name), \(other)")
            }
            #expect(!key.isSignature(parts.signature, of: parts.signed + [0], by: algorithm))
        }
        let secret = TokenSecret(try #require(Base64URL.decode(Substring(Self.vectors.secretVector.key))))
        let parts = try TokenParts(Self.vectors.secretVector.token)
        #expect(secret.isSignature(parts.signature, of: parts.signed))
    }

    @Test("broken by a seeded generator is refused, and never traps")
    func mutated() throws {
        let verifier = try Self.vectors.verifier("all")
        let taken = Set(Self.vectors.cases.filter(\.isGood).map(\.token))
        let corpus = Self.vectors.cases.filter(\.isGood).map { Array($0.token.utf8) }
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<3000 {
            let token = String(decoding: Mutation.mutate(corpus, using: &generator), as: UTF8.self)
            guard !taken.contains(token) else { continue }
            #expect(Self.vectors.verdict(token, verifier).hasPrefix("The token "))
        }
    }

    @Test("of a key that the provider has withdrawn is refused for good, whatever the time of the last fetch")
    func withdrawn() throws {
        let all = try Self.vectors.verifier("all")
        let keys = try #require(all.provider?.keys)
        let good = Self.vectors.cases.lazy.filter { $0.isGood && $0.set == "all" && $0.userClaim == nil }.compactMap {
            vector -> (token: String, id: String)? in
            guard case .key(let key)? = (try? all.read(vector.token))?.signer, let id = key.id else { return nil }
            return keys.count { $0.id == id } == 1 ? (vector.token, id) : nil
        }
        let (token, id) = try #require(good.first)
        var verifier = all
        verifier.provider?.keys.removeAll { $0.id == id }
        let unknown = #expect(throws: TokenRefusal.self) { try verifier.read(token) }
        #expect(unknown?.isForNewerKeys == true)
        verifier.provider?.withdrawn = [id]
        let withdrawn = #expect(throws: TokenRefusal.self) { try verifier.read(token) }
        #expect(withdrawn != unknown && withdrawn?.isForNewerKeys == false && withdrawn?.cause == .key)
        verifier.provider?.keys = keys
        #expect(throws: Never.self) { try verifier.read(token) }
        #expect(Set(keys.map(\.fingerprint)).count == Set(keys.map { Array($0.material.bytes) }).count)
    }

    @Test("that no present key of the provider has signed may be good with newer keys; no other refusal may")
    func newer() throws {
        for vector in Self.vectors.cases where !vector.isGood {
            let verifier = try Self.vectors.verifier(vector.set, userClaim: vector.userClaim)
            do throws(TokenRefusal) {
                _ = try verifier.read(vector.token)
            } catch {
                let words = ["has no such key", "has no kid", "is not signed with the key ", "; the key "]
                let isUnknown = words.contains { error.message.contains($0) }
                #expect(error.isForNewerKeys == isUnknown, "\(vector.name)")
            }
        }
    }
}
