import CallServer
import CallVocabulary
import ClientTokens
import Crypto
import Foundation
import OutgoingHTTP
import SoftphoneKit
import SoftphoneSession
import TestCleanup
import Testing

/// A server that takes the tokens of an identity provider, whose keys Python's HTTP server serves.
@Suite("Keys of an identity provider", .world, .timeLimit(.minutes(2)))
struct IdentityProviderTests {
    private struct Signer {
        /// nil for a key without one.
        let id: String?
        let key = P256.Signing.PrivateKey()

        /// The member of a JSON object.
        private var kid: String { id.map { #","kid":"\#($0)""# } ?? "" }

        var jwk: String {
            let point = key.publicKey.rawRepresentation
            let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
            return #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"\#(kid)}"#
        }

        /// A key for another algorithm, with the same id.
        var other: String {
            let point = P384.Signing.PrivateKey().publicKey.rawRepresentation
            let (x, y) = (Base64URL.encode(point.prefix(48)), Base64URL.encode(point.suffix(48)))
            return #"{"kty":"EC","crv":"P-384","x":"\#(x)","y":"\#(y)"\#(kid)}"#
        }

        func token(user: String = "alice", audience: String = "reveille", more: String = "") throws -> String {
            let header = #"{"alg":"ES256"\#(kid)}"#
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
        init(_ keys: [Signer], port: UInt16? = nil) async throws { try await self.init(keys.map(\.jwk), port: port) }

        init(_ keys: [String], port: UInt16? = nil) async throws {
            self.port = try port ?? freePort()
            file = world.folder + "-keys.json"
            try Self.write(keys, to: file)
            program = try world.start("/usr/bin/python3", [Program.scripts + "/key_set.py", file, "\(self.port)"])
            try await program.output.first("the port") { $0 }
        }

        func serve(_ keys: [Signer]) throws { try Self.write(keys.map(\.jwk), to: file) }

        private static func write(_ keys: [String], to file: String) throws {
            let set = "{\"keys\":[\(keys.joined(separator: ","))]}"
            try Data(set.utf8).write(to: URL(fileURLWithPath: file))
        }

        /// The requests that were answered: its lines, after the port, up to that of a request from here.
        func requests() async throws -> [String] {
            let mark = "/\(UUID().uuidString)"
            _ = try await HTTPAnswer.curl("http://127.0.0.1:\(port)\(mark)")
            try await program.output.first("its line") { $0.hasPrefix(mark) ? true : nil }
            return program.output.entries.dropFirst().filter { $0.hasPrefix("/jwks.json") }
        }
    }

    private func server(_ port: UInt16, _ clocks: MovedClocks = MovedClocks()) async throws -> CallServer {
        let address = try #require(WebAddress("http://127.0.0.1:\(port)/jwks.json?x=1"))
        return try await world.startServer(clocks: clocks.sources) {
            $0.tokens.provider = IdentityProvider(issuer: "https://id.example.com/", audiences: ["reveille"])
            $0.tokens.keysAddress = address
        }
    }

    /// nil for a token that is taken; "later" for one that is to be shown again; otherwise the refusal.
    private func refusal(_ token: String, _ server: CallServer) async throws -> String? {
        let answer = try await HTTPAnswer.curl(server, "/v1/calls/\(CallID.random())", token: token)
        switch answer.status {
        // Forbidden, as for a call of others.
        case 403: return nil
        case 503:
            #expect((1...32).contains(Int(answer.headers["retry-after"] ?? "") ?? 0), "\(answer.headers)")
            return "later"
        default:
            #expect(answer.status == 401)
            return try answer.object["message"] as? String
        }
    }

    @Test("are fetched before the first token is checked, and again for an unknown kid, at most once in 30 seconds")
    func rotation() async throws {
        let (one, two, stranger) = (Signer(id: "one"), Signer(id: "two"), Signer(id: "stranger"))
        let provider = try await Provider([one])
        let clocks = MovedClocks()
        let server = try await server(provider.port, clocks)
        #expect(try await refusal(one.token(), server) == nil)
        #expect(try await refusal(one.token(audience: "other"), server)?.contains("has aud \"other\"") == true)
        #expect(try await provider.requests() == ["/jwks.json?x=1 identity"])
        // Just fetched: a flood of unknown keys costs nothing. One of them may be new, so none is refused for good.
        try provider.serve([two])
        for _ in 0..<20 { #expect(try await refusal(stranger.token(), server) == "later") }
        #expect(try await refusal(two.token(), server) == "later")
        #expect(try await provider.requests().count == 1)
        clocks.suspend(for: .seconds(31))
        #expect(try await refusal(two.token(), server) == nil)
        #expect(try await provider.requests().count == 2)
        // The provider has taken it out: cached verdicts are flushed.
        #expect(try await refusal(one.token(), server) == "later")
        #expect(try await provider.requests().count == 2)
        // A fetch that begins after a token has come settles it.
        clocks.suspend(for: .seconds(31))
        #expect(try await refusal(one.token(), server)?.contains("has the kid \"one\"") == true)
        #expect(try await provider.requests().count == 3)
        #expect(
            try await HTTPAnswer.curl(server, "/metrics").body.contains(
                "reveille_token_key_fetches_total{result=\"ok\"} 3"))
    }

    @Test(
        "that take the place of others, with the same kid or without one, are fetched again",
        arguments: ["one", nil] as [String?])
    func sameKid(id: String?) async throws {
        let (old, new) = (Signer(id: id), Signer(id: id))
        let provider = try await Provider([old])
        let clocks = MovedClocks()
        let server = try await server(provider.port, clocks)
        #expect(try await refusal(old.token(), server) == nil)
        try provider.serve([new])
        // Just fetched.
        for _ in 0..<2 { #expect(try await refusal(new.token(), server) == "later") }
        #expect(try await provider.requests().count == 1)
        clocks.suspend(for: .seconds(31))
        #expect(try await refusal(new.token(), server) == nil)
        #expect(try await refusal(old.token(), server) == "later")
        // A fetch that begins after a token has come settles it.
        clocks.suspend(for: .seconds(31))
        #expect(try await refusal(old.token(), server)?.contains("is not signed with ") == true)
        #expect(try await provider.requests().count == 3)
    }

    @Test("that take the place of others with the same kid, for another algorithm, are fetched again")
    func otherAlgorithm() async throws {
        let new = Signer(id: "one")
        let provider = try await Provider([new.other])
        let clocks = MovedClocks()
        let server = try await server(provider.port, clocks)
        #expect(try await refusal(new.token(), server) == "later")
        try provider.serve([new])
        clocks.suspend(for: .seconds(31))
        #expect(try await refusal(new.token(), server) == nil)
        #expect(try await provider.requests().count == 2)
    }

    @Test("that are not known yet put a session off, and the phone tries again by itself")
    func putOff() async throws {
        let (one, two) = (Signer(id: "one"), Signer(id: "two"))
        let provider = try await Provider([one])
        let server = try await server(provider.port)
        #expect(try await refusal(one.token(), server) == nil)
        try provider.serve([one, two])
        let token = try two.token()
        let phone = try await world.phone("alice", at: server.address) {
            $0.token = .fixed(token)
            $0.connectLimit = .seconds(1)
        }
        _ = await #expect(throws: (any Error).self) { try await phone.softphone.connect() }
        let wait = try await phone.event("it waits") { event in
            if case .connection(.down(_, _, let wait)) = event { wait } else { nil }
        }
        #expect(wait > .seconds(5), "\(wait)")
        let isGone = phone.events.entries.contains { if case .connection(.gone) = $0 { true } else { false } }
        #expect(!isGone)
    }

    @Test("are fetched at a reload; a key that was withdrawn ends then, and with it the sessions of its tokens")
    func withdrawal() async throws {
        let (one, two) = (Signer(id: "one"), Signer(id: "two"))
        let provider = try await Provider([one, two])
        let server = try await server(provider.port)
        func phone(_ user: String, _ signer: Signer) async throws -> Phone {
            let token = try signer.token(user: user)
            return try await world.onlinePhone(user, at: server.address) { $0.token = .fixed(token) }
        }
        let (ended, open) = (try await phone("alice", one), try await phone("bob", two))
        // The server's own tokens have another signer.
        let own = try await world.onlinePhone("carol", at: server.address)
        try provider.serve([two])
        // Just fetched: an operator does not wait.
        try await server.reload(ServerReload())
        #expect(try await provider.requests().count == 2)
        _ = try await ended.event("the session ends") { event in
            event == .connection(.gone(.closed(code: 3500))) ? true : nil
        }
        #expect(try await refusal(one.token(), server)?.contains("has withdrawn that key") == true)
        #expect(try await refusal(two.token(), server) == nil)
        _ = try await own.connects(to: open)
        // It comes back.
        try provider.serve([one, two])
        try await server.reload(ServerReload())
        #expect(try await refusal(one.token(), server) == nil)
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
        // Not the token's fault: there are no keys.
        #expect(try await refusal(one.token(), third) == "later")
        // It comes back.
        let again = try await Provider([one], port: provider.port)
        clocks.suspend(for: .seconds(31))
        #expect(try await refusal(one.token(), third) == nil)
        #expect(try await again.requests().count == 1)
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
        // A key of a file is withdrawn by the reload that takes it away.
        let token = try one.token(user: "dave")
        let dave = try await world.onlinePhone("dave", at: server.address) { $0.token = .fixed(token) }
        tokens.provider?.keys = []
        reload.tokens = tokens
        try await server.reload(reload)
        _ = try await dave.event("the session ends") { event in
            event == .connection(.gone(.closed(code: 3500))) ? true : nil
        }
    }
}
