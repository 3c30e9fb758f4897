import CallVocabulary
import Foundation
import TestCleanup
import Testing

@testable import CallServer

@Suite("TURN credentials", .cleanup)
struct TurnCredentialsTests {
    private let clock = ServerClock(
        ClockSources(wall: { 1_767_225_600_999 }, elapsed: { 5000 }, awake: { 5000 }, boot: nil))

    private func handle(_ text: String) throws -> Handle { try #require(Handle(text)) }

    // echo -n 1767229200:alice | openssl dgst -sha1 -hmac north -binary | base64
    @Test("are the expiry and the user, signed with HMAC-SHA1")
    func credential() throws {
        let turn = TurnCredentials(TurnConfiguration(urls: ["turn:a", "stun:b"], secret: "north"), clock: clock)
        let servers = turn.servers(for: try handle("alice"))
        #expect(
            servers == [
                ICEServer(
                    urls: ["turn:a", "stun:b"], username: "1767229200:alice",
                    credential: "NtnEvQtTWyjHZIle0+Ms+zW2Ryc=",
                    expiresAt: clock.time() + .seconds(3600))
            ])
        #expect(!"\(servers)".contains("NtnEvQtTWyjHZIle0+Ms+zW2Ryc="))
    }

    @Test(
        "are a problem when the next start would find no secret in the file",
        arguments: [
            ("north\n", false), ("\n north \nsouth", false), ("", true), (" ", true), ("\n", true), ("\r\n\r\n", true),
            (" \n\t\n", true), (" \nnorth\n", true), (nil, true),
        ] as [(String?, Bool)])
    func missing(text: String?, isMissing: Bool) throws {
        let path = try DataFolder.temporary().path + "/turn-secret"
        if let text { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
        let turn = TurnCredentials(
            TurnConfiguration(urls: ["turn:a"], secret: "north", secretFile: path), clock: clock)
        #expect(turn.missingSecret == (isMissing ? path : nil))
    }

    @Test(
        "have a user name that coturn takes, whatever the handle is",
        arguments: [
            ("alice", "alice"), ("+81312345678", "+81312345678"), ("alice@example.org", "alice@example.org"),
            ("o'brien", "o%27brien"), (#""q""#, "%22q%22"), (#"a\b"#, "a%5Cb"), ("50%", "50%25"), ("a:b", "a%3Ab"),
            ("zoë", "zo%C3%AB"), ("union", "union"),
            ("Union,SELECT", "%55%6E%69%6F%6E%2C%53%45%4C%45%43%54"),
        ])
    func names(text: String, name: String) throws {
        let turn = TurnCredentials(TurnConfiguration(urls: ["turn:a"], secret: "north"), clock: clock)
        #expect(turn.servers(for: try handle(text)).first?.username == "1767229200:\(name)")
    }

    @Test("have no character in their user name that coturn or a client's preparation of texts changes or refuses")
    func characters() throws {
        let turn = TurnCredentials(TurnConfiguration(urls: ["turn:a"], secret: "north"), clock: clock)
        var seen: Set<String> = []
        let handles = (UInt32(0x21)...0x2FF).compactMap { Unicode.Scalar($0) }.compactMap { Handle("a\($0)") }
        #expect(handles.count > 500)
        for handle in handles {
            let username = try #require(turn.servers(for: handle).first?.username)
            #expect(username.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && !username.contains { "'\"\\".contains($0) })
            // Two handles never have one name.
            #expect(seen.insert(username).inserted)
        }
        let longest = try handle(String(repeating: "'", count: Handle.longest))
        #expect(try #require(turn.servers(for: longest).first?.username.utf8.count) <= 512)
    }

    @Test("are of the new secret, servers and lifetime after a reload, and none without a configuration")
    func reload() throws {
        let turn = TurnCredentials(nil, clock: clock)
        let alice = try handle("alice")
        #expect(turn.servers(for: alice) == [])
        turn.replace(with: TurnConfiguration(urls: ["turn:a"], secret: "north"))
        let first = try #require(turn.servers(for: alice).first)
        turn.replace(with: TurnConfiguration(urls: ["turn:a"], secret: "south"))
        let second = try #require(turn.servers(for: alice).first)
        #expect(first.username == second.username && first.credential != second.credential)
        turn.replace(with: TurnConfiguration(urls: ["turn:c"], secret: "south", lifetime: .seconds(60)))
        let third = try #require(turn.servers(for: alice).first)
        #expect(third.urls == ["turn:c"] && third.username == "1767225660:alice")
        #expect(third.expiresAt == clock.time() + .seconds(60))
        turn.replace(with: nil)
        #expect(turn.servers(for: alice) == [])
    }
}
