import CallCore
import CallVocabulary
import ClientTokens
import EventJournal
import EventLoop
import LibWebSockets
import OutgoingHTTP
import Synchronization
import TLS
import TestCleanup
import Testing
import WebSocketServer

@testable import CallServer

/// A JWT is verified off the loop once, and then answered from a cache while it is valid.
@Suite("The check of a token", .cleanup, .timeLimit(.minutes(5))) struct TokenCheckerTests {
    private final class Clock: Sendable {
        let ahead = Mutex(0.0)
    }

    private let failures = RateLimiter(perMinute: 600)
    private let authority: TokenAuthority
    private let loop: EventLoop
    private let clock = Clock()
    private let checker: LoopBound<TokenChecker>

    init() async throws {
        let (clock, system) = (self.clock, ClockSources.system)
        let sources = ClockSources(
            wall: { system.wall() + clock.ahead.withLock { Int64($0 * 1000) } }, elapsed: system.elapsed,
            awake: system.awake, boot: nil)
        let authority = try await TokenAuthority(folder: .temporary(), clock: ServerClock(sources))
        let loop = try EventLoop.started("shard-test")
        let made = await loop.run { [failures] in
            LoopBound(TokenChecker(authority, loop: loop, failures: failures), on: loop)
        }
        checker = try #require(made)
        (self.authority, self.loop) = (authority, loop)
    }

    /// - Returns: the result for the token, and whether it was known before `check` returned.
    private func check(_ token: String) async throws -> (result: TokenChecker.Result, isAtOnce: Bool) {
        let (answers, answer) = AsyncStream.makeStream(of: (TokenChecker.Result, Bool).self)
        loop.execute { [checker] in
            var isChecking = true
            checker.value.check(token, from: nil) { answer.yield(($0, isChecking)) }
            isChecking = false
        }
        var iterator = answers.makeAsyncIterator()
        return try #require(await iterator.next())
    }

    private final class Count: Sendable {
        let value = Atomic<Int>(0)
    }

    @Test("who asks for keys is answered when the loop of the key set has stopped")
    func stoppedKeySet() async throws {
        let environment = RemoteKeySet.Environment(
            address: try #require(WebAddress("http://127.0.0.1:9/")), folder: try .temporary(), clock: ServerClock(),
            counters: TokenCounters(), log: .none, onKeys: { _, _ in })
        let keys = try EventLoop.started("keys-test")
        let source = try #require(try await KeySource.make(environment, on: keys))
        source.begin()
        await source.stop()
        await keys.stopAndWait()
        let fetch = await source.fetchNewer()
        #expect(!fetch.isNewer && fetch.retryAfter != nil)
        await source.refetch()
    }

    @Test("only so many checks wait for the identity provider's keys; further ones are told at once to come again")
    func waitingForKeys() async throws {
        let environment = RemoteKeySet.Environment(
            address: try #require(WebAddress("http://127.0.0.1:9/")), folder: try .temporary(), clock: ServerClock(),
            counters: TokenCounters(), log: .none, onKeys: { _, _ in })
        let tls = try TLSClientContext.webClient.get()
        let answered = Count()
        // In one turn: the fetch is under way until the end.
        let early = await loop.run { [loop] in
            let set = RemoteKeySet(environment, loop: loop, tls: tls)
            set.begin()
            for _ in 0..<RemoteKeySet.mostWaiting + 10 {
                set.askForNewer { fetch in
                    if fetch.retryAfter != nil { answered.value.add(1, ordering: .relaxed) }
                }
            }
            let early = answered.value.load(ordering: .relaxed)
            set.stop()
            return early
        }
        #expect(early == 10)
        #expect(answered.value.load(ordering: .relaxed) == RemoteKeySet.mostWaiting + 10)
    }

    @Test("a refusal for many failed tokens before gives each client another time to wait")
    func spread() async throws {
        let network = try #require(PeerAddress(numeric: "203.0.113.9"))
        let key = RateLimiter.Key(network)
        let (answers, answer) = AsyncStream.makeStream(of: TokenChecker.Result.self)
        // In one turn: the limit lets the next one in after 100 ms.
        loop.execute { [loop, failures, checker] in
            let now = Int64(loop.milliseconds)
            for _ in 0..<600 { failures.charge(key, now: now) }
            for _ in 0..<900 { _ = failures.wait(key, now: now) }
            checker.value.check("x.y.z", from: network) { answer.yield($0) }
        }
        var iterator = answers.makeAsyncIterator()
        guard case .failure(.tooMany(let wait)) = try #require(await iterator.next()) else {
            Issue.record("not refused")
            return
        }
        // Without the spread, 100 ms at most.
        #expect(wait > .milliseconds(900))
    }

    @Test("runs once for a repeated token")
    func again() async throws {
        let user = try #require(Handle("bob"))
        let device = DeviceID(high: 7, low: 8)
        let token = try await authority.mint(user: user, lifetime: .seconds(60), device: device, name: "Bob")
        let first = try await check(token)
        let second = try await check(token)
        #expect(!first.isAtOnce && second.isAtOnce)
        for result in [first.result, second.result] {
            let verified = try result.get()
            let issuedAt = try #require(verified.grant.issuedAt, "the cache keeps it: the core compares it")
            #expect(
                verified.grant == SessionGrant(user: user, displayName: "Bob", issuedAt: issuedAt)
                    && verified.device == device)
        }
        // Any change to the claims makes another token.
        let other = try await check(token + "A")
        #expect(throws: TokenChecker.Failure.self) { try other.result.get() }
        #expect(!other.isAtOnce)
        // A refused token is refused again.
        let once = try await check(token + "A")
        #expect(throws: TokenChecker.Failure.self) { try once.result.get() }
        #expect(!once.isAtOnce)
    }

    /// An object that a completion retains.
    private final class Asker {}

    private final class WeakParts {
        weak var asker: Asker?
        weak var checker: TokenChecker?
    }

    @Test("releases its callers after the answer")
    func forgets() async throws {
        let token = try await authority.mint(user: #require(Handle("bob")), lifetime: .seconds(60))
        let kept = LoopBound(WeakParts(), on: loop)
        // Verified, refused, and cached.
        for token in [token, token + "A", token] {
            let answers = Journal<Bool>()
            loop.execute { [checker] in
                let asker = Asker()
                kept.value.asker = asker
                checker.value.check(token, from: nil) { [asker] _ in
                    withExtendedLifetime(asker) { answers.append(true) }
                }
            }
            try await answers.wait(for: true)
            #expect(await loop.run { kept.value.asker == nil } == true)
        }
    }

    @Test("answers all concurrent requests for one token")
    func atOneTime() async throws {
        let token = try await authority.mint(user: #require(Handle("bob")), lifetime: .seconds(60))
        let answers = Journal<Int>()
        let isAtOnce = await loop.run { [checker] in
            for number in 1...3 {
                checker.value.check(token, from: nil) { if case .success = $0 { answers.append(number) } }
            }
            return !answers.entries.isEmpty
        }
        #expect(isAtOnce == false)
        try await answers.wait(for: "all three") { $0.count == 3 }
        #expect(Set(answers.entries) == [1, 2, 3])
    }

    @Test("with too many refused from an address, verifies no further token from there; known ones are still good")
    func failures() async throws {
        let address = try #require(PeerAddress(numeric: "203.0.113.9")).network
        let bob = try #require(Handle("bob"))
        let (known, fresh) = (
            try await authority.mint(user: bob, lifetime: .seconds(60)),
            try await authority.mint(user: bob, lifetime: .seconds(61))
        )
        let (authority, loop, answers) = (self.authority, self.loop, Journal<String>())
        let made = await loop.run {
            LoopBound(TokenChecker(authority, loop: loop, failures: RateLimiter(perMinute: 2)), on: loop)
        }
        let limited = try #require(made)
        var expected: [String] = []
        for (token, from, answer) in [
            (known, address, "good"), ("made-up", address, "refused"), ("wake1.made-up", address, "refused"),
            (fresh, address, "too many"), ("made-up", address, "too many"), (known, address, "good"),
            ("wake1.made-up", address, "refused"), ("made-up", nil, "refused"), (fresh, nil, "good"),
        ] {
            expected.append(answer)
            loop.execute {
                limited.value.check(token, from: from) { result in
                    switch result {
                    case .success: answers.append("good")
                    case .failure(.refused): answers.append("refused")
                    case .failure(.tooMany(let wait)): answers.append(wait < .seconds(31) ? "too many" : "\(wait)")
                    case .failure(.unsettled(let wait)): answers.append("unsettled \(wait)")
                    }
                }
            }
            try await answers.wait(for: "an answer") { [count = expected.count] in $0.count == count }
        }
        #expect(answers.entries == expected)
        // Those that were not verified are not counted as refused.
        #expect(authority.counters.refusals(.malformed) + authority.counters.refusals(.wake) == 4)
    }

    @Test("makes no callback after its release, and is not retained by work in progress")
    func release() async throws {
        let token = try await authority.mint(user: #require(Handle("bob")), lifetime: .seconds(60))
        let answers = Journal<String>()
        let (authority, loop) = (self.authority, self.loop)
        let isGone = await loop.run {
            let kept = WeakParts()
            do {
                let asker = Asker()
                let checker = TokenChecker(authority, loop: loop, failures: RateLimiter(perMinute: 600))
                (kept.asker, kept.checker) = (asker, checker)
                checker.check(token, from: nil) { [asker] _ in
                    withExtendedLifetime(asker) { answers.append("of the released") }
                }
            }
            return kept.asker == nil && kept.checker == nil
        }
        #expect(isGone == true)
        // Requested after it.
        _ = try await check(token).result.get()
        #expect(answers.entries.isEmpty)
    }

    @Test("refuses a cached token that has expired")
    func expiry() async throws {
        let token = try await authority.mint(user: #require(Handle("bob")), lifetime: .seconds(7200))
        _ = try await check(token).result.get()
        clock.ahead.withLock { $0 = 3600 }
        _ = try await check(token).result.get()
        clock.ahead.withLock { $0 = 7201 }
        let late = try await check(token)
        #expect(late.isAtOnce)
        #expect { try late.result.get() } throws: {
            if case .refused(.expired)? = $0 as? TokenChecker.Failure { true } else { false }
        }
    }

    @Test("caches fewer tokens if each has a long list of callees")
    func boundOfBytes() throws {
        let user = try #require(Handle("bob"))
        let targets = (0..<560).map { "somebody-\($0)" }
        let verified = TokenAuthority.Verified(
            grant: SessionGrant(user: user, allowance: CallAllowance(targets: targets)), device: nil,
            expiresAt: Instant(milliseconds: 0))
        var recent = RecentTokens(kept: 1000, bytes: 1 << 20)
        for number in 0..<100 {
            recent.insert("token \(number)", verified)
            // A token that comes again is counted once.
            recent.insert("token \(number)", verified)
        }
        let found = (0..<100).count { number in
            var probe = recent
            return probe.find("token \(number)") != nil
        }
        // Each takes more than 50 kB, and less than 60.
        #expect((17...42).contains(found))
    }

    @Test("caches the most recent tokens, up to its capacity")
    func bound() throws {
        let user = try #require(Handle("bob"))
        let kept = 64
        var recent = RecentTokens(kept: kept)
        func verified(_ number: Int) -> TokenAuthority.Verified {
            TokenAuthority.Verified(
                grant: SessionGrant(user: user), device: nil, expiresAt: Instant(milliseconds: Int64(number)))
        }
        let count = 3 * kept
        for number in 0..<count {
            recent.insert("token \(number)", verified(number))
            // This token is used all the time.
            #expect(number == 0 || recent.find("token 0")?.expiresAt == Instant(milliseconds: 0))
        }
        for number in count - kept..<count {
            var probe = recent
            #expect(probe.find("token \(number)")?.expiresAt == Instant(milliseconds: Int64(number)))
        }
        for number in 1..<count - 2 * kept { #expect(recent.find("token \(number)") == nil) }
        #expect(!"\(recent)".contains("token 1"))
    }
}
