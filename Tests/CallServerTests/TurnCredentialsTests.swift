import CallVocabulary
import Testing

@testable import CallServer

@Suite("TURN credentials")
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
