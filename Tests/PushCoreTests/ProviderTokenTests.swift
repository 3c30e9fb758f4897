import CallVocabulary
import Determinism
import Testing

@testable import PushCore

@Suite("The provider token's life")
struct ProviderTokenTests {
    private static let start = Instant(milliseconds: 1_700_000_000_000)

    private static func signedToken() -> ProviderToken {
        var token = ProviderToken(policy: ProviderTokenPolicy())
        _ = token.startSigningIfDue(now: start)
        token.signed(1)
        return token
    }

    /// The generation whose signing starts then, if one is due.
    private static func signing(_ token: inout ProviderToken, at now: Instant) -> Int? {
        token.startSigningIfDue(now: now)?.generation
    }

    private static func after(minutes: Int64) -> Instant { start + .seconds(60 * minutes) }

    @Test("it is signed once, however often it is asked for")
    func once() {
        var token = ProviderToken(policy: ProviderTokenPolicy())
        #expect(token.usable(now: Self.start) == nil)
        #expect(Self.signing(&token, at: Self.start) == 1)
        #expect(Self.signing(&token, at: Self.start) == nil)
        #expect(token.usable(now: Self.start) == nil)
        token.signed(1)
        #expect(token.usable(now: Self.start) == 1)
        #expect(Self.signing(&token, at: Self.after(minutes: 49)) == nil)
    }

    @Test("it ages from its issue, not from when its signature was there")
    func ageFromIssue() {
        var token = ProviderToken(policy: ProviderTokenPolicy())
        let due = token.startSigningIfDue(now: Self.start)
        #expect(due?.issuedAt == Self.start)
        token.signed(1)
        #expect(Self.signing(&token, at: Self.start + .milliseconds(50 * 60 * 1000 - 1)) == nil)
        #expect(Self.signing(&token, at: Self.after(minutes: 50)) == 2)
    }

    @Test("the old one serves while the new one is signed, but not beyond 58 minutes")
    func overlap() {
        var token = Self.signedToken()
        #expect(Self.signing(&token, at: Self.after(minutes: 50)) != nil)
        #expect(token.usable(now: Self.after(minutes: 57)) == 1)
        #expect(token.usable(now: Self.after(minutes: 58)) == nil)
        token.signed(2)
        #expect(token.usable(now: Self.after(minutes: 58)) == 2)
    }

    @Test("a stale one is given up only after 20 minutes, and only once")
    func givingUp() {
        var token = Self.signedToken()
        #expect(token.giveUp(1, now: Self.start + .milliseconds(20 * 60 * 1000 - 1)) == false)
        #expect(token.usable(now: Self.after(minutes: 19)) == 1)
        #expect(token.giveUp(1, now: Self.after(minutes: 20)) == true)
        #expect(token.usable(now: Self.after(minutes: 20)) == nil)
        #expect(Self.signing(&token, at: Self.after(minutes: 20)) == 2)
        #expect(token.giveUp(1, now: Self.after(minutes: 20)) == true)
        token.signed(2)
        // Late answers to the old token do not touch the new one.
        #expect(token.giveUp(1, now: Self.after(minutes: 41)) == true)
        #expect(token.usable(now: Self.after(minutes: 41)) == 2)
    }

    @Test("no policy makes it sign twice within the shortest interval")
    func shortestInterval() {
        var policy = ProviderTokenPolicy()
        policy.refreshAge = .seconds(60)
        var token = ProviderToken(policy: policy)
        _ = token.startSigningIfDue(now: Self.start)
        token.signed(1)
        #expect(Self.signing(&token, at: Self.after(minutes: 19)) == nil)
        #expect(Self.signing(&token, at: Self.after(minutes: 20)) == 2)
    }

    @Test("a signature that failed is tried again, and a late one of an older try does not count")
    func failure() {
        var token = ProviderToken(policy: ProviderTokenPolicy())
        _ = token.startSigningIfDue(now: Self.start)
        token.signed(7)
        #expect(token.usable(now: Self.start) == nil)
        token.signingFailed(1)
        #expect(Self.signing(&token, at: Self.start) == 1)
    }
}

@Suite("Backoff and deadlines")
struct BackoffTests {
    @Test("waiting times double up to the cap, spread by half, and start over after a success")
    func doubling() {
        var backoff = Backoff(Backoff.Limits(base: .milliseconds(100), cap: .seconds(3)))
        var random = SeededGenerator(seed: 1)
        for whole in [100, 200, 400, 800, 1600, 3000, 3000, 3000] as [Int64] {
            let wait = backoff.failed(random: &random).wholeMilliseconds
            #expect((whole / 2...whole + whole / 2).contains(wait))
        }
        for _ in 0..<100 { _ = backoff.failed(random: &random) }
        backoff.succeeded()
        #expect(backoff.failed(random: &random) <= .milliseconds(150))
    }

    @Test("the jitter differs from one failure to the next")
    func jitter() {
        var backoff = Backoff(Backoff.Limits(base: .seconds(1), cap: .seconds(1)))
        var random = SeededGenerator(seed: 1)
        var waits: [Duration] = []
        for _ in 0..<10 { waits.append(backoff.failed(random: &random)) }
        #expect(Set(waits).count > 5)
    }
}
