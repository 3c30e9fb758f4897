import CallCore
import CallServer
import ClientTokens
import Foundation
import JWTKit
import OutgoingHTTP
import ServerSettings
import Testing

@Suite("Settings of user tokens")
struct TokenSettingsTests {
    private let scene: Scene

    init() throws {
        scene = try Scene()
        try scene.write(ES256PrivateKey().publicKey.pemRepresentation, to: "key.pem")
    }

    private static let given = """
        tokens.keys: [DIR/key.pem]
        tokens.issuer: https://id.example.com/
        tokens.audience: ' one , two'

        """

    private func write(_ text: String) throws { try scene.write(text.replacing("DIR", with: scene.folder)) }

    @Test("are the secret of the data folder and nothing else, unless an identity provider is given")
    func defaults() throws {
        #expect(try scene.load().serverConfiguration().tokens == TokenConfiguration())
        try write(Self.given + "tokens.user_claim: email\ntokens.leeway_seconds: 5\n")
        #expect(try scene.faults() == [])
        let tokens = try scene.load().serverConfiguration().tokens
        #expect(tokens.provider?.issuer == "https://id.example.com/")
        #expect(tokens.provider?.audiences == ["one", "two"] && tokens.provider?.userClaim == "email")
        #expect(tokens.provider?.keys.map(\.algorithms) == [[.es256]])
        #expect(tokens.leeway == .seconds(5) && tokens.secretFile == nil)
    }

    @Test("take the address of a key set instead of files, or besides them")
    func address() throws {
        try write(Self.given + "tokens.jwks_url: https://id.example.com/jwks.json\n")
        #expect(try scene.faults() == [])
        #expect(try scene.load().serverConfiguration().tokens.keysAddress?.target == "/jwks.json")
        try write(
            Self.given.split(separator: "\n").dropFirst().joined(separator: "\n")
                + "\ntokens.jwks_url: https://id.example.com/jwks.json\n")
        #expect(try scene.faults() == [])
        let provider = try #require(try scene.load().serverConfiguration().tokens.provider)
        #expect(provider.keys == [] && provider.issuer == "https://id.example.com/")
        try write(Self.given + "tokens.jwks_url: http://id.example.com/jwks.json\n")
        #expect(
            try scene.faults() == [
                "DIR/reveille.yaml:4: tokens.jwks_url: the value is no address that keys can be "
                    + "fetched from; give one such as https://id.example.com/jwks.json; http:// only with a numeric "
                    + "address of this machine or localhost"
            ])
    }

    @Test("warn of backends' tokens that one server of a realm has for itself")
    func backendsInRealm() throws {
        let line = BackendToken.make(name: "pbx", role: .calls, scope: BackendScope()).line
        try scene.write(line, to: "data/backend-tokens")
        try write("node: one\n")
        #expect(try scene.faults() == [])
        let store = "store: postgres://bob@db.example.org/calls?sslmode=verify-full\n"
        try write(store)
        let faults = try scene.faults()
        #expect(faults.count == 1 && faults.first?.hasPrefix("warning: ") == true)
        #expect(faults.first?.contains("DIR/data/backend-tokens counts on this server alone") == true, "\(faults)")
        // Somebody has the file on each server.
        try write(store + "backend.tokens_file: DIR/data/backend-tokens\n")
        #expect(try scene.faults() == [])
    }

    @Test("warn of a file of backends' tokens that is empty, as on a full disk, but not of one without a token")
    func emptyBackends() throws {
        try write("node: one\n")
        try scene.write("", to: "data/backend-tokens")
        let faults = try scene.faults()
        #expect(faults.count == 1 && faults.first?.hasPrefix("warning: ") == true, "\(faults)")
        #expect(faults.first?.contains("backend-tokens is empty: all requests of backends are refused") == true)
        try scene.write("# NAME ROLE USERS SHA256\n", to: "data/backend-tokens")
        #expect(try scene.faults() == [])
    }

    @Test("name what is missing, and what is of no use")
    func incomplete() throws {
        for (text, faults) in [
            (
                "tokens.keys: [DIR/key.pem]\n",
                [
                    "DIR/reveille.yaml:1: tokens.keys: needs tokens.issuer; "
                        + "a provider signs tokens for others as well, which must not open sessions here",
                    "DIR/reveille.yaml:1: tokens.keys: needs tokens.audience; "
                        + "a provider signs tokens for others as well, which must not open sessions here",
                ]
            ),
            (
                "tokens.issuer: x\n",
                [
                    "DIR/reveille.yaml:1: tokens.issuer: is of no use without tokens.keys or tokens.jwks_url; "
                        + "give the provider's keys"
                ]
            ),
            (
                "tokens.keys: [DIR/key.pem]\ntokens.issuer: x\ntokens.audience: ' ,'\n",
                [
                    "DIR/reveille.yaml:3: tokens.audience: names nobody; give what the provider calls this server in aud"
                ]
            ),
        ] {
            try write(text)
            #expect(try scene.faults() == faults)
        }
    }

    @Test("say which keys of a file are left out, and refuse a file without a key")
    func keys() throws {
        let set = #"{"keys":[{"kty":"oct","kid":"a","k":"AA"}]}"#
        try scene.write(set, to: "keys.json")
        try write(Self.given.replacing("key.pem", with: "keys.json"))
        #expect(
            try scene.faults() == [
                "warning: DIR/reveille.yaml:1: tokens.keys: DIR/keys.json: key \"a\" is left out: it is a secret key; "
                    + "the set of public keys is all that this server needs",
                "DIR/reveille.yaml:1: tokens.keys: DIR/keys.json has no key for RS256, PS256, ES256, ES384 or EdDSA; "
                    + "give the provider's public keys",
            ])
        try scene.write("hello", to: "keys.json")
        #expect(
            try scene.faults() == [
                "DIR/reveille.yaml:1: tokens.keys: DIR/keys.json holds neither a JWK Set nor a public key in PEM; "
                    + "give a JWK Set, or public keys in PEM"
            ])
    }

    @Test("take several secrets from a file, and refuse one that is short")
    func secrets() throws {
        let secret = String(repeating: "ab", count: 32)
        try scene.write("\(secret)\n  \(secret)\n\n", to: "secrets")
        try write("tokens.secret_file: DIR/secrets\n")
        #expect(try scene.faults() == [])
        #expect(try scene.load().serverConfiguration().tokens.secretFile == scene.folder + "/secrets")
        try scene.write("\(secret)\nabcd\n", to: "secrets")
        #expect(
            try scene.faults() == [
                "DIR/reveille.yaml:1: tokens.secret_file: DIR/secrets does not hold secrets of 64 hexadecimal digits or "
                    + "more, one a line; make one with: openssl rand -hex 32 > DIR/secrets"
            ])
        // In the data folder as well, where no setting names it.
        try write("")
        try scene.write("short", to: "data/client-token.key")
        #expect(try scene.load().errors.map(\.key) == ["tokens.secret_file"])
    }
}
