import CallVocabulary
import ClientTokens
import EventLoop
import Foundation
import OutgoingHTTP
import TestCleanup
import Testing
import WebSocketServer

@testable import CallServer

/// Keys change while the server runs: both secrets are taken during a rotation, and no verdict outlives its key.
@Suite("Keys of user tokens that change", .cleanup, .timeLimit(.minutes(5)))
struct TokenRotationTests {
    private let folder: DataFolder
    private let authority: TokenAuthority
    private let loop: EventLoop
    private let checker: LoopBound<TokenChecker>
    private let old = String(repeating: "01", count: 32)
    private let new = String(repeating: "02", count: 32)
    private let claims = Array(#"{"sub":"bob","exp":4000000000}"#.utf8)

    init() async throws {
        folder = try DataFolder.temporary()
        try Data("\(old)\n".utf8).write(to: URL(fileURLWithPath: folder.path + "/client-token.key"))
        let authority = try await TokenAuthority(folder: folder)
        let loop = try EventLoop.started("shard-test")
        checker = try #require(
            await loop.run {
                LoopBound(TokenChecker(authority, loop: loop, failures: RateLimiter(perMinute: 600)), on: loop)
            })
        (self.authority, self.loop) = (authority, loop)
    }

    /// - Returns: whether the token is taken, and whether that was known at once.
    private func check(_ token: String) async throws -> (isTaken: Bool, isAtOnce: Bool) {
        let (answers, answer) = AsyncStream.makeStream(of: (Bool, Bool).self)
        loop.execute { [checker] in
            var isChecking = true
            checker.value.check(token, from: nil) { result in
                answer.yield(((try? result.get()) != nil, isChecking))
            }
            isChecking = false
        }
        var iterator = answers.makeAsyncIterator()
        return try #require(await iterator.next())
    }

    private func replace(_ lines: [String]) throws -> Bool {
        try Data(lines.map { $0 + "\n" }.joined().utf8)
            .write(to: URL(fileURLWithPath: folder.path + "/client-token.key"))
        return authority.replace(with: try authority.verifier(for: TokenConfiguration()))
    }

    @Test("leave both secrets good during a rotation, and the former one no longer than that")
    func rotation() async throws {
        let (oldToken, newToken) = (
            TokenSecret(Array(repeating: 1, count: 32)).sign(claims: claims),
            TokenSecret(Array(repeating: 2, count: 32)).sign(claims: claims)
        )
        #expect(try await check(oldToken) == (true, false))
        #expect(try await check(oldToken) == (true, true))
        #expect(try await check(newToken) == (false, false))

        #expect(try replace([new, old]))
        // Verified anew, because the keys have changed.
        #expect(try await check(oldToken) == (true, false))
        #expect(try await check(newToken) == (true, false))
        #expect(try await check(newToken) == (true, true))
        // The first one signs.
        let minted = try await authority.mint(user: #require(Handle("bob")), lifetime: .seconds(60))
        #expect(throws: Never.self) {
            try TokenVerifier(secrets: [TokenSecret(Array(repeating: 2, count: 32))]).verify(
                minted, at: Instant(milliseconds: 0))
        }

        #expect(try replace([new]))
        #expect(try await check(oldToken) == (false, false))
        #expect(try await check(newToken) == (true, false))
        // The same keys again forget nothing.
        #expect(try !replace([new]))
        #expect(try await check(newToken) == (true, true))
    }

    @Test("decide about a token whose check began before they changed")
    func changedMeanwhile() async throws {
        let token = TokenSecret(Array(repeating: 1, count: 32)).sign(claims: claims)
        let (answers, answer) = AsyncStream.makeStream(of: Bool.self)
        // The keys are replaced in the turn of the loop that asks, so before the answer comes to it.
        let isReplaced = await loop.run { [self] in
            checker.value.check(token, from: nil) { answer.yield((try? $0.get()) != nil) }
            return (try? replace([new])) == true
        }
        #expect(isReplaced == true)
        var iterator = answers.makeAsyncIterator()
        let after: Bool? = await iterator.next()
        #expect(after == false)
    }

    @Test("of an identity provider come from the home before: this node's own may have a withdrawn one")
    func sharedKeys() throws {
        let file = folder.path + "/" + RemoteKeySet.file
        func content(_ end: Int64, of url: String = "https://id.example.com/") -> [UInt8] {
            Array(#"{"url":"\#(url)","end":\#(end),"keySet":"{}"}"#.utf8)
        }
        let other = content(1, of: "https://id.example.org/")
        func kept() -> [UInt8]? { FileManager.default.contents(atPath: file).map { Array($0) } }
        for (shared, expected) in [
            (Array("of a later version".utf8), nil), (content(5), content(5)), (content(4), content(4)),
            (content(6), content(6)), (other, other),
        ] as [([UInt8], [UInt8]?)] {
            try RemoteKeySet.take(shared, into: folder)
            #expect(kept() == expected)
        }
    }

    private struct Kept: Encodable {
        var url: String
        var end = ServerClock().wallTime().milliseconds + 60_000
        var keySet: String
    }

    @Test("of an identity provider that the realm has kept explain a token, before those of this node")
    func explained() async throws {
        let url = "https://127.0.0.1:1/keys"
        let address = try #require(WebAddress(url))
        func content(_ id: String, of url: String) throws -> [UInt8] {
            // Of RFC 7517, appendix A.1.
            let set = """
                {"kty":"EC","crv":"P-256","kid":"\(id)","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
                "y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}
                """
            return Array(try JSONEncoder().encode(Kept(url: url, keySet: set)))
        }
        try folder.replace(RemoteKeySet.file, with: content("own", of: url))
        let cases: [(shared: [UInt8]?, id: String)] = [
            (nil, "own"), (try content("realm", of: url), "realm"),
            (try content("realm", of: "https://127.0.0.1:2/keys"), "own"),
        ]
        for (shared, id) in cases {
            let keys = try await RemoteKeySet.keys(of: address, folder: folder, shared: shared)
            #expect(keys.map(\.id) == [id])
        }
    }

    @Test("of an identity provider that end in its outage end no session; those that it does not serve afterwards do")
    func outage() throws {
        func keys(_ x: String, _ y: String) throws -> [TokenKey] {
            let text = #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"}"#
            return try TokenKeySet(Array(text.utf8), source: "keys").keys
        }
        // Of RFC 7517, appendix A.1, and of RFC 7515, appendix A.3.
        let one = try keys(
            "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM")
        let two = try keys(
            "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
        var tokens = TokenConfiguration()
        tokens.provider = IdentityProvider(issuer: "https://id.example.com/", audiences: ["reveille"])
        #expect(authority.replace(with: try authority.verifier(for: tokens)))
        let secrets = authority.fingerprints
        authority.takeServed(one, withdrawn: [])
        #expect(authority.fingerprints == secrets.union(one.map(\.fingerprint)))
        authority.takeServed([], withdrawn: [])
        #expect(authority.verifier.provider?.keys == [])
        #expect(authority.fingerprints == secrets.union(one.map(\.fingerprint)))
        authority.takeServed(two, withdrawn: [])
        #expect(authority.fingerprints == secrets.union(two.map(\.fingerprint)))
    }

    @Test("are the former ones after a file that cannot be used")
    func broken() async throws {
        let token = TokenSecret(Array(repeating: 1, count: 32)).sign(claims: claims)
        #expect(throws: DataFolder.Failure.self) { try replace([new, "short"]) }
        #expect(try await check(token).isTaken)
    }
}
