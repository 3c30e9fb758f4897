import Dispatch
import LibWebSockets
import Synchronization
import Testing

@testable import WebSocketServer

@Suite("A limit for a minute")
struct RateLimiterTests {
    /// How many of `attempts` at `now` are allowed.
    private func taken(_ limiter: RateLimiter, _ key: String, attempts: Int, now: Int64) -> Int {
        (0..<attempts).count { _ in limiter.take(RateLimiter.Key(key), now: now) == nil }
    }

    @Test(
        "counts an IPv6 address in its /64, /56 and /48, which have larger shares; a refusal by one counts in no larger"
    )
    func networks() throws {
        let limiter = RateLimiter(perMinute: 2)
        func network(_ subnet: Int) throws -> PeerAddress {
            try #require(PeerAddress(numeric: "2001:db8:0:\(String(subnet, radix: 16))::1")).network
        }
        func taken(_ subnet: Int, attempts: Int = 1) throws -> Int {
            let client = try network(subnet)
            return (0..<attempts).count { _ in limiter.take(networks: client, now: 5_000) == nil }
        }
        #expect(try taken(0, attempts: 100) == 2)
        #expect(try (1..<10).map { try taken($0) } == [1, 1, 1, 1, 1, 1, 0, 0, 0])
        #expect(try limiter.wait(networks: network(10), now: 5_000) == .milliseconds(7_500))
        #expect(
            try (1..<6).map { subnet in try (0..<10).count { try taken(subnet << 8 + $0) == 1 } } == [8, 8, 8, 0, 0])
        let other = try #require(PeerAddress(numeric: "2001:db8:1::1")).network
        #expect(limiter.take(networks: other, now: 5_000) == nil)
        for _ in 0..<8 { limiter.charge(networks: other, now: 5_000) }
        #expect(
            limiter.wait(networks: try #require(PeerAddress(numeric: "2001:db8:1:1::1")).network, now: 5_000) != nil)
        #expect(limiter.wait(networks: try #require(PeerAddress(numeric: "192.0.2.1")), now: 5_000) == nil)
    }

    @Test("a thousand clients that are refused together do not return together")
    func spread() {
        let limiter = RateLimiter(perMinute: 60)
        let key = RateLimiter.Key("a")
        for _ in 0..<60 { #expect(limiter.take(key, now: 0) == nil) }
        let waits = (0..<1024).compactMap { _ in limiter.take(key, now: 0).map { limiter.spread($0) } }
        #expect(Set(waits).count == 1024)
        #expect(waits.allSatisfy { (.seconds(1)..<Duration.seconds(2.1)).contains($0) })
    }

    @Test("allows the whole number at once, then one for each equal part, and says when")
    func burst() {
        let limiter = RateLimiter(perMinute: 60)
        #expect(taken(limiter, "a", attempts: 100, now: 5_000) == 60)
        #expect(limiter.refused == 40)
        #expect(limiter.take(RateLimiter.Key("a"), now: 5_400) == .milliseconds(600))
        #expect(limiter.take(RateLimiter.Key("a"), now: 5_999) == .milliseconds(1))
        #expect(taken(limiter, "a", attempts: 2, now: 6_000) == 1)
        #expect(taken(limiter, "a", attempts: 100, now: 16_000) == 10)
        #expect(taken(limiter, "a", attempts: 100, now: 200_000) == 60)
    }

    @Test("never allows more than twice its number in a minute, and its number in each further one")
    func longRun() {
        for perMinute in [1, 7, 600, 25_000] {
            let limiter = RateLimiter(perMinute: perMinute)
            var allowed = 0
            for now in stride(from: Int64(0), to: 180_000, by: 2) {
                allowed += taken(limiter, "a", attempts: 2, now: now)
            }
            // A burst and three minutes.
            #expect(perMinute * 4 - 2...perMinute * 4 ~= allowed, "\(perMinute): \(allowed)")
        }
    }

    @Test("asking alone uses nothing, and keys do not share")
    func keys() {
        let limiter = RateLimiter(perMinute: 1)
        for _ in 0..<10 { #expect(limiter.wait(RateLimiter.Key("a"), now: 0) == nil) }
        #expect(limiter.take(RateLimiter.Key("a"), now: 0) == nil)
        #expect(limiter.wait(RateLimiter.Key("a"), now: 0) == .seconds(60))
        #expect(limiter.take(RateLimiter.Key("b"), now: 0) == nil)
        // What has happened counts too, up to a minute's.
        for _ in 0..<10 { limiter.charge(RateLimiter.Key("c"), now: 0) }
        #expect(limiter.refused == 1)
        #expect(limiter.take(RateLimiter.Key("c"), now: 0) == .seconds(60))
    }

    @Test("another rate applies at once; what was used counts on")
    func change() {
        let limiter = RateLimiter(perMinute: 10)
        #expect(taken(limiter, "a", attempts: 10, now: 0) == 10)
        limiter.setRate(perMinute: 60)
        #expect(taken(limiter, "a", attempts: 10, now: 1_000) == 1)
        limiter.setRate(perMinute: 1)
        #expect(limiter.take(RateLimiter.Key("a"), now: 2_000) == .seconds(59))
    }

    @Test("a million strangers are all allowed, in a table that grows to its bound and no further")
    func strangers() {
        let limiter = RateLimiter(perMinute: 2)
        #expect(limiter.capacity == 128)
        for number in 0..<1_000_000 { #expect(limiter.take(RateLimiter.Key(number), now: Int64(number / 1000)) == nil) }
        #expect(limiter.capacity == RateLimiter.mostKeys && limiter.refused == 0)
    }

    @Test("a table with room forgets nobody; a full one forgives those that have used least")
    func memory() {
        let limiter = RateLimiter(perMinute: 10)
        func use(_ key: Int, _ times: Int) {
            for _ in 0..<times { _ = limiter.take(RateLimiter.Key(key), now: 0) }
        }
        for key in 0..<2_000 { use(key, 10) }
        #expect((0..<2_000).allSatisfy { limiter.wait(RateLimiter.Key($0), now: 0) != nil })
        // Many times the table's size, once each.
        for key in 2_000..<500_000 { use(key, 1) }
        #expect((0..<2_000).allSatisfy { limiter.wait(RateLimiter.Key($0), now: 0) != nil })
        #expect(limiter.capacity == RateLimiter.mostKeys)
    }

    @Test("idle keys make room without growth")
    func idle() {
        let limiter = RateLimiter(perMinute: 60)
        for number in 0..<100_000 { _ = limiter.take(RateLimiter.Key(number), now: Int64(number) * 1000) }
        #expect(limiter.capacity == 128)
    }

    @Test("threads together get what one gets")
    func threads() {
        let limiter = RateLimiter(perMinute: 10_000)
        let allowed = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<5_000 {
                if limiter.take(RateLimiter.Key("a"), now: 0) == nil { allowed.add(1, ordering: .relaxed) }
            }
        }
        #expect(allowed.load(ordering: .relaxed) == 10_000)
    }
}
