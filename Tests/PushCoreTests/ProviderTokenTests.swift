import CallVocabulary
import Determinism
import Testing

@testable import PushCore

@Suite("The provider token's life")
struct ProviderTokenTests {
    private static let start = Instant(milliseconds: 1_700_000_000_000)

    private static func signedToken() -> ProviderToken {
        var token = ProviderToken(policy: PushPolicy())
        _ = token.startSigningIfDue(now: start)
        sign(&token, 1, at: start)
        return token
    }

    /// The generation whose signing starts then, if one is due.
    private static func signing(_ token: inout ProviderToken, at now: Instant) -> Int? {
        token.startSigningIfDue(now: now)?.generation
    }

    private static func sign(_ token: inout ProviderToken, _ generation: Int, at now: Instant) {
        #expect(token.signed(generation, expiresAt: nil, now: now) == true)
    }

    private static func after(minutes: Int64) -> Instant { start + .seconds(60 * minutes) }

    @Test("it is signed once, however often it is asked for")
    func once() {
        var token = ProviderToken(policy: PushPolicy())
        #expect(token.usable(now: Self.start) == nil)
        #expect(Self.signing(&token, at: Self.start) == 1)
        #expect(Self.signing(&token, at: Self.start) == nil)
        #expect(token.usable(now: Self.start) == nil)
        Self.sign(&token, 1, at: Self.start)
        #expect(token.usable(now: Self.start) == 1)
        #expect(Self.signing(&token, at: Self.after(minutes: 49)) == nil)
    }

    @Test("it ages from its issue, not from when its signature was there")
    func ageFromIssue() {
        var token = ProviderToken(policy: PushPolicy())
        let due = token.startSigningIfDue(now: Self.start)
        #expect(due?.issuedAt == Self.start)
        Self.sign(&token, 1, at: Self.start + .seconds(1))
        #expect(Self.signing(&token, at: Self.start + .milliseconds(50 * 60 * 1000 - 1)) == nil)
        #expect(Self.signing(&token, at: Self.after(minutes: 50)) == 2)
    }

    @Test("the old one serves while the new one is signed, but not beyond 58 minutes")
    func overlap() {
        var token = Self.signedToken()
        #expect(Self.signing(&token, at: Self.after(minutes: 50)) != nil)
        #expect(token.usable(now: Self.after(minutes: 57)) == 1)
        #expect(token.usable(now: Self.after(minutes: 58)) == nil)
        Self.sign(&token, 2, at: Self.after(minutes: 58))
        #expect(token.usable(now: Self.after(minutes: 58)) == 2)
    }

    @Test("a signed one is dated by a clock that was wrong when that was set: a new one is signed at once")
    func clockSet() {
        var token = Self.signedToken()
        token.clockSet()
        #expect(token.usable(now: Self.after(minutes: 1)) == nil)
        #expect(Self.signing(&token, at: Self.after(minutes: 1)) == 2)
        // What was asked for before is of no use any more.
        var waiting = ProviderToken(policy: PushPolicy())
        #expect(Self.signing(&waiting, at: Self.start) == 1)
        waiting.clockSet()
        #expect(!waiting.isOfCredential(1))
        #expect(Self.signing(&waiting, at: Self.start) == 2)
    }

    @Test("a fetched one is the provider's, and stays when the clock is set; a failed fetch is tried again at once")
    func clockSetWhileFetching() {
        var policy = PushPolicy()
        policy.credential = .fetchedToken
        var random = SeededGenerator(seed: 1)
        var token = ProviderToken(policy: policy)
        #expect(Self.signing(&token, at: Self.start) == 1)
        token.signingFailed(1, now: Self.start, random: &random)
        #expect(Self.signing(&token, at: Self.start) == nil)
        token.clockSet()
        #expect(Self.signing(&token, at: Self.start) != nil)
        let isOfUse = token.signed(1, expiresAt: Self.after(minutes: 60), now: Self.start)
        #expect(isOfUse)
        token.clockSet()
        #expect(token.usable(now: Self.after(minutes: 1)) == 1)
    }

    @Test("a refused one is replaced after 20 minutes, and only once")
    func replacing() {
        var token = Self.signedToken()
        let early = Self.start + .milliseconds(20 * 60 * 1000 - 1)
        #expect(token.replace(1, mayBeEarly: false, now: early) == .same)
        #expect(token.usable(now: Self.after(minutes: 19)) == 1)
        #expect(token.replace(1, mayBeEarly: false, now: Self.after(minutes: 20)) == .newer)
        #expect(token.usable(now: Self.after(minutes: 20)) == nil)
        #expect(Self.signing(&token, at: Self.after(minutes: 20)) == 2)
        #expect(token.replace(1, mayBeEarly: true, now: Self.after(minutes: 20)) == .newer)
        Self.sign(&token, 2, at: Self.after(minutes: 20))
        // Late answers to the old token do not touch the new one.
        #expect(token.replace(1, mayBeEarly: true, now: Self.after(minutes: 41)) == .newer)
        #expect(token.usable(now: Self.after(minutes: 41)) == 2)
    }

    @Test("a young one that is refused is replaced as well, once in 20 minutes, where that may help")
    func replacingEarly() {
        var token = Self.signedToken()
        let now = Self.after(minutes: 5)
        #expect(token.replace(1, mayBeEarly: false, now: now) == .same)
        #expect(token.replace(1, mayBeEarly: true, now: now) == .early)
        #expect(token.usable(now: now) == nil)
        #expect(Self.signing(&token, at: now) == 2)
        Self.sign(&token, 2, at: now)
        #expect(token.replace(2, mayBeEarly: true, now: Self.after(minutes: 24)) == .same)
        #expect(token.usable(now: Self.after(minutes: 24)) == 2)
        #expect(token.replace(2, mayBeEarly: true, now: Self.after(minutes: 25)) == .newer)
        #expect(Self.signing(&token, at: Self.after(minutes: 25)) == 3)
        Self.sign(&token, 3, at: Self.after(minutes: 25))
        #expect(token.replace(3, mayBeEarly: true, now: Self.after(minutes: 26)) == .early)
    }

    @Test("one that is refused while the next is being signed is not used any more")
    func replacingWhileSigning() {
        var token = Self.signedToken()
        #expect(Self.signing(&token, at: Self.after(minutes: 50)) == 2)
        #expect(token.replace(1, mayBeEarly: true, now: Self.after(minutes: 50)) == .newer)
        #expect(token.usable(now: Self.after(minutes: 50)) == nil)
    }

    @Test("no policy makes it sign twice within the shortest interval")
    func shortestInterval() {
        var policy = PushPolicy()
        policy.providerToken.refreshAge = .seconds(60)
        var token = ProviderToken(policy: policy)
        _ = token.startSigningIfDue(now: Self.start)
        Self.sign(&token, 1, at: Self.start)
        #expect(Self.signing(&token, at: Self.after(minutes: 19)) == nil)
        #expect(Self.signing(&token, at: Self.after(minutes: 20)) == 2)
    }

    @Test("a signature that failed is tried again, and a late one of an older try does not count")
    func failure() {
        var token = ProviderToken(policy: PushPolicy())
        _ = token.startSigningIfDue(now: Self.start)
        Self.sign(&token, 7, at: Self.start)
        #expect(token.usable(now: Self.start) == nil)
        var random = SeededGenerator(seed: 1)
        token.signingFailed(1, now: Self.start, random: &random)
        #expect(Self.signing(&token, at: Self.start) == 1)
    }
}

@Suite("The access token's life")
struct AccessTokenTests {
    private static let start = Instant(milliseconds: 1_700_000_000_000)

    private static func token(life: Duration?) -> ProviderToken {
        var policy = PushPolicy()
        policy.credential = .fetchedToken
        var token = ProviderToken(policy: policy)
        #expect(token.startSigningIfDue(now: start)?.generation == 1)
        #expect(token.signed(1, expiresAt: life.map { start + $0 }, now: start) == true)
        return token
    }

    @Test(
        "it is renewed five minutes before its end, or in the last tenth of a short life, and not used to the very end",
        arguments: [
            (Duration.seconds(3600), 3300 as Int64, 3590 as Int64), (.seconds(200), 180, 190), (nil, 3300, 3590),
            (.seconds(50), 40, 40),
        ])
    func end(_ row: (life: Duration?, refreshFrom: Int64, usableUntil: Int64)) {
        var token = Self.token(life: row.life)
        let refresh = Self.start + .seconds(row.refreshFrom)
        #expect(token.startSigningIfDue(now: refresh + .milliseconds(-1)) == nil)
        #expect(token.nextSigning == Self.start + .seconds(row.usableUntil))
        #expect(token.usable(now: Self.start + .milliseconds(row.usableUntil * 1000 - 1)) == 1)
        #expect(token.usable(now: Self.start + .seconds(row.usableUntil)) == nil)
        #expect(token.startSigningIfDue(now: refresh)?.generation == 2)
        #expect(token.nextSigning == nil)
    }

    @Test("a fetch that failed is tried again after growing waits, which a success ends")
    func backoff() throws {
        var policy = PushPolicy()
        policy.credential = .fetchedToken
        var token = ProviderToken(policy: policy)
        var random = SeededGenerator(seed: 1)
        var now = Self.start
        for wait in [1000, 2000, 4000] as [Int64] {
            #expect(token.startSigningIfDue(now: now)?.generation == 1)
            token.signingFailed(1, now: now, random: &random)
            let next = try #require(token.nextSigning)
            #expect((wait / 2...wait * 3 / 2).contains((next - now).wholeMilliseconds))
            #expect(token.startSigningIfDue(now: next + .milliseconds(-1)) == nil)
            now = next
        }
        _ = token.startSigningIfDue(now: now)
        #expect(token.signed(1, expiresAt: now + .seconds(3600), now: now) == true)
        let end = now + .seconds(3590)
        #expect(token.startSigningIfDue(now: end)?.generation == 2)
        token.signingFailed(2, now: end, random: &random)
        #expect(try #require(token.nextSigning) - end <= .milliseconds(1500))
    }

    @Test("one that has expired when it comes is a failure, and the old one stays as it is")
    func stillborn() {
        var token = Self.token(life: .seconds(200))
        let now = Self.start + .seconds(185)
        #expect(token.startSigningIfDue(now: now)?.generation == 2)
        #expect(token.signed(2, expiresAt: now + .seconds(10), now: now) == false)
        #expect(token.usable(now: now) == 1)
    }

    @Test("a refused one is fetched anew, once within two seconds if it was only just fetched")
    func replacing() {
        var token = Self.token(life: .seconds(3600))
        #expect(token.replace(1, mayBeEarly: true, now: Self.start + .seconds(1)) == .early)
        #expect(token.startSigningIfDue(now: Self.start + .seconds(1))?.generation == 2)
        let end = Self.start + .seconds(3600)
        #expect(token.signed(2, expiresAt: end, now: Self.start + .seconds(1)) == true)
        #expect(token.replace(2, mayBeEarly: true, now: Self.start + .milliseconds(2_999)) == .same)
        #expect(token.replace(2, mayBeEarly: true, now: Self.start + .seconds(3)) == .newer)
        #expect(token.usable(now: Self.start + .seconds(3)) == nil)
        #expect(token.startSigningIfDue(now: Self.start + .seconds(3))?.generation == 3)
    }

    @Test("with a certificate nothing is ever signed, and there is always generation 0")
    func certificate() {
        var policy = PushPolicy()
        policy.credential = .certificate
        var token = ProviderToken(policy: policy)
        #expect(token.usable(now: Self.start) == 0)
        #expect(token.startSigningIfDue(now: Self.start) == nil)
        #expect(token.nextSigning == nil)
        #expect(token.replace(0, mayBeEarly: true, now: Self.start) == .same)
        #expect(token.usable(now: Self.start) == 0)
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
