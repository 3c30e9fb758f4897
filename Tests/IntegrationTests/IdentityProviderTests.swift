import CallServer
import CallVocabulary
import ClientTokens
import Crypto
import Foundation
import OutgoingHTTP
import TestCleanup
import Testing

/// A server that takes the tokens of an identity provider, whose keys Python's HTTP server serves.
@Suite("Keys of an identity provider", .world, .timeLimit(.minutes(2)))
struct IdentityProviderTests {
    private struct Signer {
        let id: String
        let key = P256.Signing.PrivateKey()

        var jwk: String {
            let point = key.publicKey.rawRepresentation
            let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
            return #"{"kty":"EC","crv":"P-256","kid":"\#(id)","x":"\#(x)","y":"\#(y)"}"#
        }

        func token(user: String = "alice", audience: String = "reveille", more: String = "") throws -> String {
            let header = #"{"alg":"ES256","kid":"\#(id)"}"#
            let claims =
                #"{"iss":"https://id.example.com/","aud":"\#(audience)","sub":"\#(user)","exp":4000000000\#(more)}"#
            let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8)
            return signed + "." + Base64URL.encode(try key.signature(for: Data(signed.utf8)).rawRepresentation)
        }
    }

    /// The key set's file, and the program that serves it.
    private struct Provider {
        let file: String
        let program: Program
        let port: UInt16

        /// - Parameter port: nil for a port that no other test gets while the program is stopped.
        init(_ keys: [Signer], port: UInt16? = nil) async throws {
            self.port = try port ?? freePort()
            file = world.folder + "-keys.json"
            try Self.write(keys, to: file)
            program = try world.start("/usr/bin/python3", [Program.scripts + "/key_set.py", file, "\(self.port)"])
            try await program.output.first("the port") { $0 }
        }

        func serve(_ keys: [Signer]) throws { try Self.write(keys, to: file) }

        private static func write(_ keys: [Signer], to file: String) throws {
            let set = "{\"keys\":[\(keys.map(\.jwk).joined(separator: ","))]}"
            try Data(set.utf8).write(to: URL(fileURLWithPath: file))
        }

        /// All but the first line, which is the port.
        var requests: [String] { Array(program.output.entries.dropFirst()) }
    }

    private func server(_ port: UInt16, _ clocks: MovedClocks = MovedClocks()) async throws -> CallServer {
        let address = try #require(WebAddress("http://127.0.0.1:\(port)/jwks.json?x=1"))
        return try await world.startServer(clocks: clocks.sources) {
            $0.tokens.provider = IdentityProvider(issuer: "https://id.example.com/", audiences: ["reveille"])
            $0.tokens.keysAddress = address
        }
    }

    /// nil for a token that is taken; otherwise the refusal.
    private func refusal(_ token: String, _ server: CallServer) async throws -> String? {
        let answer = try await HTTPAnswer.curl(server, "/v1/calls/\(CallID.random())", token: token)
        // Forbidden, as for a call of others.
        if answer.status == 403 { return nil }
        #expect(answer.status == 401)
        return try answer.object["message"] as? String
    }

    @Test("are fetched before the first token is checked, and again for an unknown kid, at most once in 30 seconds")
    func rotation() async throws {
        let (one, two, stranger) = (Signer(id: "one"), Signer(id: "two"), Signer(id: "stranger"))
        let provider = try await Provider([one])
        let clocks = MovedClocks()
        let server = try await server(provider.port, clocks)
        #expect(try await refusal(one.token(), server) == nil)
        #expect(try await refusal(one.token(audience: "other"), server)?.contains("has aud \"other\"") == true)
        #expect(provider.requests == ["/jwks.json?x=1 identity"])
        // Just fetched: a flood of unknown keys costs nothing.
        try provider.serve([two])
        for _ in 0..<20 {
            #expect(
                try await refusal(stranger.token(), server)?.contains("the identity provider has no such key") == true)
        }
        #expect(provider.requests.count == 1)
        clocks.suspend(for: .seconds(31))
        #expect(try await refusal(two.token(), server) == nil)
        #expect(provider.requests.count == 2)
        // The provider has taken it out: cached verdicts are flushed.
        #expect(try await refusal(one.token(), server)?.contains("has the kid \"one\"") == true)
        #expect(provider.requests.count == 2)
        #expect(
            try await HTTPAnswer.curl(server, "/metrics").body.contains(
                "reveille_token_key_fetches_total{result=\"ok\"} 2"))
    }

    @Test("count while the provider is down, also after a restart, and no longer than a day")
    func outage() async throws {
        let one = Signer(id: "one")
        let provider = try await Provider([one])
        let clocks = MovedClocks()
        let first = try await server(provider.port, clocks)
        #expect(try await refusal(one.token(), first) == nil)
        await provider.program.abandon()
        await first.stop()
        clocks.suspend(for: .seconds(23 * 3600))
        let second = try await server(provider.port, clocks)
        #expect(try await refusal(one.token(), second) == nil)
        await second.stop()
        clocks.suspend(for: .seconds(3 * 3600))
        let third = try await server(provider.port, clocks)
        #expect(try await refusal(one.token(), third)?.contains("the identity provider has no such key") == true)
        // It comes back.
        let again = try await Provider([one], port: provider.port)
        clocks.suspend(for: .seconds(31))
        #expect(try await refusal(one.token(), third) == nil)
        #expect(again.requests.count == 1)
    }

    @Test("come and go with a reload, and a session that is open goes on")
    func reload() async throws {
        let one = Signer(id: "one")
        let provider = try await Provider([one])
        let server = try await server(provider.port)
        let phone = try await world.onlinePhone("bob", at: server.address)
        #expect(try await refusal(one.token(), server) == nil)
        var tokens = TokenConfiguration()
        var reload = ServerReload()
        reload.tokens = tokens
        try await server.reload(reload)
        #expect(try await refusal(one.token(), server)?.contains("only \"HS256\" is taken") == true)
        let set = try TokenKeySet(Array("{\"keys\":[\(one.jwk)]}".utf8), source: "keys.json")
        tokens.provider = IdentityProvider(
            issuer: "https://id.example.com/", audiences: ["x", "reveille"], keys: set.keys)
        reload.tokens = tokens
        try await server.reload(reload)
        #expect(try await refusal(one.token(), server) == nil)
        let alice = try await world.onlinePhone("alice", at: server.address)
        _ = try await alice.connects(to: phone)
    }
}
