import CallVocabulary
import ClientTokens
import EventLoop
import Foundation
import TestCleanup
import Testing
import WebSocketServer

@testable import CallServer

/// Keys change while the server runs: both secrets are taken during a rotation, and no verdict outlives its key.
@Suite("Keys of user tokens that change", .cleanup, .timeLimit(.minutes(1)))
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

    @Test("of an identity provider come from the home before, unless this node has kept newer ones")
    func sharedKeys() throws {
        let file = folder.path + "/" + RemoteKeySet.file
        func content(_ end: Int64, of url: String = "https://id.example.com/") -> [UInt8] {
            Array(#"{"url":"\#(url)","end":\#(end),"keySet":"{}"}"#.utf8)
        }
        let other = content(1, of: "https://id.example.org/")
        func kept() -> [UInt8]? { FileManager.default.contents(atPath: file).map { Array($0) } }
        for (shared, expected) in [
            (Array("of a later version".utf8), nil), (content(5), content(5)), (content(4), content(5)),
            (content(6), content(6)), (other, other),
        ] as [([UInt8], [UInt8]?)] {
            try RemoteKeySet.take(shared, into: folder)
            #expect(kept() == expected)
        }
    }

    @Test("are the former ones after a file that cannot be used")
    func broken() async throws {
        let token = TokenSecret(Array(repeating: 1, count: 32)).sign(claims: claims)
        #expect(throws: DataFolder.Failure.self) { try replace([new, "short"]) }
        #expect(try await check(token).isTaken)
    }
}
