import CallVocabulary
import PushSimulator
import PushVocabulary
import Testing

@Suite("The provider tokens of one connection")
struct ProviderAuthorizationTests {
    static let start = Instant(milliseconds: 1_700_000_000_000)
    static let keys = [
        ProviderKey(id: "KEYONE0001", teamID: "TEAM000001", publicKeyPEM: ""),
        ProviderKey(id: "KEYTWO0002", teamID: "TEAM000001", publicKeyPEM: ""),
        ProviderKey(id: "KEYSANDBOX", teamID: "TEAM000001", environments: [.sandbox], publicKeyPEM: ""),
    ]

    var authorization = ProviderAuthorization(environment: .production, keys: keys)

    static func signed(
        _ key: String = "KEYONE0001", team: String = "TEAM000001", at instant: Instant = start
    ) -> ProviderTokenFacts {
        .signed(keyID: key, teamID: team, issuedAt: instant)
    }

    static func after(minutes: Int, seconds: Int = 0) -> Instant { start + .seconds(minutes * 60 + seconds) }

    @Test("a valid token opens the connection, and stays valid for an hour from its issue")
    mutating func valid() {
        #expect(!authorization.isAuthorized)
        #expect(authorization.judge("a", facts: Self.signed(), now: Self.start) == nil)
        #expect(authorization.isAuthorized)
        #expect(authorization.judge("a", facts: Self.signed(), now: Self.after(minutes: 60)) == nil)
        let tooLate = Self.after(minutes: 60, seconds: 1)
        #expect(authorization.judge("a", facts: Self.signed(), now: tooLate) == .expiredProviderToken)
    }

    @Test("what is not signed by a known key of its team is invalid and opens nothing")
    mutating func invalid() {
        #expect(authorization.judge("a", facts: .invalid, now: Self.start) == .invalidProviderToken)
        #expect(authorization.judge("a", facts: Self.signed("NOSUCHKEY0"), now: Self.start) == .invalidProviderToken)
        let foreign = Self.signed(team: "TEAM000002")
        #expect(authorization.judge("a", facts: foreign, now: Self.start) == .invalidProviderToken)
        #expect(!authorization.isAuthorized)
    }

    @Test("a token from the future is invalid, but for a minute's difference of clocks")
    mutating func future() {
        let late = Self.signed(at: Self.after(minutes: 1, seconds: 1))
        #expect(authorization.judge("a", facts: late, now: Self.start) == .invalidProviderToken)
        #expect(authorization.judge("a", facts: Self.signed(at: Self.after(minutes: 1)), now: Self.start) == nil)
    }

    @Test("a key made for the other environment is told apart from a bad one")
    mutating func environment() {
        let facts = Self.signed("KEYSANDBOX")
        #expect(authorization.judge("a", facts: facts, now: Self.start) == .badEnvironmentKeyIDInToken)
        var sandbox = ProviderAuthorization(environment: .sandbox, keys: Self.keys)
        #expect(sandbox.judge("a", facts: facts, now: Self.start) == nil)
    }

    @Test("a second key on one connection is refused, and the first goes on")
    mutating func mixedKeys() {
        #expect(authorization.judge("a", facts: Self.signed(), now: Self.start) == nil)
        let other = Self.signed("KEYTWO0002", at: Self.after(minutes: 30))
        #expect(authorization.judge("b", facts: other, now: Self.after(minutes: 30)) == .unrelatedKeyIDInToken)
        #expect(authorization.judge("a", facts: Self.signed(), now: Self.after(minutes: 30)) == nil)
    }

    @Test("a new token every 20 minutes is in order, one sooner is not")
    mutating func updates() {
        #expect(authorization.judge("a", facts: Self.signed(), now: Self.start) == nil)
        let early = Self.after(minutes: 19, seconds: 59)
        #expect(authorization.judge("b", facts: Self.signed(at: early), now: early) == .tooManyProviderTokenUpdates)
        #expect(authorization.judge("a", facts: Self.signed(), now: early) == nil)
        let due = Self.after(minutes: 20)
        #expect(authorization.judge("c", facts: Self.signed(at: due), now: due) == nil)
        let again = Self.after(minutes: 30)
        #expect(authorization.judge("d", facts: Self.signed(at: again), now: again) == .tooManyProviderTokenUpdates)
    }

    @Test("a connection opened late in a token's life may take the next one soon")
    mutating func lateConnection() {
        #expect(authorization.judge("a", facts: Self.signed(), now: Self.after(minutes: 49)) == nil)
        let refreshed = Self.after(minutes: 50)
        #expect(authorization.judge("b", facts: Self.signed(at: refreshed), now: refreshed) == nil)
    }

    @Test("going back to the token before is an update too")
    mutating func backAndForth() {
        #expect(authorization.judge("a", facts: Self.signed(), now: Self.start) == nil)
        let due = Self.after(minutes: 20)
        #expect(authorization.judge("b", facts: Self.signed(at: due), now: due) == nil)
        #expect(authorization.judge("a", facts: Self.signed(), now: due) == .tooManyProviderTokenUpdates)
    }
}
