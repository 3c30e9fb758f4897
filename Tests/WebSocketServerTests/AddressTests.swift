import EventJournal
import LibWebSockets
import Testing

@testable import WebSocketServer

@Suite("Connections by address")
struct AddressTests {
    private func network(_ host: String) throws -> PeerAddress { try #require(PeerAddress(numeric: host)).network }

    @Test("a range holds the addresses that begin as it does, in either form")
    func ranges() throws {
        func holds(_ range: String, _ host: String) throws -> Bool {
            try #require(AddressRange(range)).contains(try #require(PeerAddress(numeric: host)))
        }
        #expect(try holds("10.1.0.0/16", "10.1.255.3") && holds("10.1.0.0/16", "::ffff:10.1.0.9"))
        #expect(try !holds("10.1.0.0/16", "10.2.0.1") && !holds("10.0.0.5", "10.0.0.6"))
        #expect(try holds("10.0.0.5", "10.0.0.5") && holds("0.0.0.0/0", "10.0.0.6"))
        #expect(try holds("fd00::/8", "fd12::1") && !holds("fd00::/8", "fe12::1"))
        #expect(try holds("2001:db8::1/128", "2001:db8::1") && !holds("2001:db8::/127", "2001:db8::2"))
        #expect(try !holds("0.0.0.0/0", "2001:db8::1"))
    }

    @Test("an address has its share and no more, and what it gives back it may have again")
    func shares() throws {
        let shares = AddressShares(limit: 2)
        let (one, other) = (try network("192.0.2.1"), try network("2001:db8::1"))
        #expect(shares.take(one, now: 0) == nil && shares.take(one, now: 0) == nil)
        #expect(shares.take(one, now: 0) == .share)
        #expect(shares.take(other, now: 0) == nil)
        shares.giveBack(one)
        #expect(shares.take(one, now: 0) == nil && shares.take(one, now: 0) == .share)
    }

    @Test("an IPv6 network counts with the /56 and the /48 around it, which have larger shares")
    func widerNetworks() throws {
        let shares = AddressShares(limit: 2)
        /// One connection of each of ten /64s in a /56.
        func taken(_ subnet: Int) throws -> Int {
            try (0..<10).count {
                shares.take(try network("2001:db8:0:\(String(subnet << 8 + $0, radix: 16))::1"), now: 0) == nil
            }
        }
        #expect(try (0..<6).map { try taken($0) } == [8, 8, 8, 8, 0, 0])
        #expect(shares.take(try network("2001:db8:1::1"), now: 0) == nil, "another /48")
        shares.giveBack(try network("2001:db8::1"))
        #expect(shares.take(try network("2001:db8:0:9::1"), now: 0) == nil)
        #expect(shares.take(try network("2001:db8:0:a::1"), now: 0) == .share)
    }

    @Test("a /56 has at most half of all connections, and a /48 three quarters")
    func wideBounds() throws {
        let shares = AddressShares(limit: 25, of: 100)
        func taken(_ subnet: Int) throws -> Int {
            try (0..<100).count {
                shares.take(try network("2001:db8:0:\(String(subnet << 8 + $0, radix: 16))::1"), now: 0) == nil
            }
        }
        #expect(try (0..<3).map { try taken($0) } == [50, 25, 0])
    }

    @Test("an address opens so many connections in a minute, whether they stay or not")
    func rate() throws {
        let shares = AddressShares(limit: 100, rate: RateLimiter(perMinute: 3))
        let (one, other) = (try network("192.0.2.1"), try network("2001:db8::1"))
        for _ in 0..<3 {
            #expect(shares.take(one, now: 1000) == nil)
            shares.giveBack(one)
        }
        #expect(shares.take(one, now: 1000) == .rate && shares.take(other, now: 1000) == nil)
        #expect(shares.take(one, now: 21_000) == nil && shares.take(one, now: 21_000) == .rate)
    }

    @Test("what there is no room for is counted each time, and told of once in half a minute for each cause")
    func pressure() {
        let told = Journal<String>()
        let pressure = ConnectionPressure { report in told.append("\(report.cause) \(report.count) \(report.peer)") }
        let peer = PeerAddress(numeric: "192.0.2.1")
        let start = ContinuousClock.now
        for second in 0..<60 { pressure.note(.full, peer: peer, now: start + .seconds(second)) }
        pressure.note(.share, peer: peer, now: start + .seconds(5))
        #expect(pressure.count(.full) == 60 && pressure.count(.share) == 1 && pressure.count(.eviction) == 0)
        #expect(told.entries == ["full 1 192.0.2.1", "full 30 192.0.2.1", "share 1 192.0.2.1"])
        // However many requests a proxy passes on.
        for second in 0..<29 { pressure.note(.unreadable, peer: peer, detail: "_x", now: start + .seconds(second)) }
        #expect(told.entries.last == "unreadable 1 192.0.2.1" && told.entries.count == 4)
    }

    @Test("where nothing else is said an address may have a quarter")
    func quarter() {
        #expect([1, 3, 4, 500, 100_000].map { WebSocketServer.share(of: $0) } == [1, 1, 1, 125, 25_000])
    }
}
