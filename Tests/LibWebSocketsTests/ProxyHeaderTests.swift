import ByteMutation
import Determinism
import Testing

@testable import LibWebSockets

@Suite("The header of a proxy")
struct ProxyHeaderTests {
    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]

    /// A header of version 2.
    private static func block(
        _ family: UInt8, _ body: [UInt8], command: UInt8 = 0x21, length: Int? = nil
    ) -> [UInt8] {
        let length = length ?? body.count
        return signature + [command, family, UInt8(length >> 8), UInt8(length & 0xFF)] + body
    }

    private static let old: [UInt8] = [203, 0, 113, 9, 192, 0, 2, 1, 0xDD, 0xD5, 0x01, 0xBB]
    private static let new: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [7]
        + [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1] + [0xDD, 0xD5, 0x01, 0xBB]
    /// A host name, a checksum and an unknown type.
    private static let extras: [UInt8] = [2, 0, 3, 0x61, 0x2E, 0x62, 3, 0, 4, 1, 2, 3, 4, 0xEE, 0, 0]

    static let valid: [(header: [UInt8], client: String?)] = [
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1 56789 443\r\n".utf8), "203.0.113.9:56789"),
        (Array("PROXY TCP6 2001:db8::7 2001:db8::1 56789 443\r\n".utf8), "[2001:db8::7]:56789"),
        (Array("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n".utf8), "255.255.255.255:65535"),
        (Array("PROXY TCP6 ::ffff:203.0.113.9 ::1 0 443\r\n".utf8), "203.0.113.9"),
        (Array("PROXY UNKNOWN\r\n".utf8), nil),
        (Array("PROXY UNKNOWN \(String(repeating: "f", count: 91))\r\n".utf8), nil),
        (block(0x11, old), "203.0.113.9:56789"),
        (block(0x21, new), "[2001:db8::7]:56789"),
        (block(0x11, old + extras), "203.0.113.9:56789"),
        (block(0x21, new + [UInt8](repeating: 0xEE, count: 536 - 16 - 36)), "[2001:db8::7]:56789"),
        // The proxy's own check, with and without what it is to ignore.
        (block(0x00, [], command: 0x20), nil),
        (block(0x11, old, command: 0x20), nil),
        (block(0xFF, [1, 2, 3], command: 0x20), nil),
        (block(0x00, []), nil),
        (block(0x00, extras), nil),
        (block(0x31, [UInt8](repeating: 0x2F, count: 216)), nil),
        (block(0x12, old), nil),
    ]

    /// Gives the header in parts of this size.
    private func read(_ bytes: [UInt8], by size: Int) throws(ProxyHeader.Fault) -> (ProxyHeader, taken: Int)? {
        var (header, taken) = (ProxyHeader(), 0)
        while taken < bytes.count {
            let part = try header.read(bytes[taken..<min(bytes.count, taken + size)])
            taken += part.taken
            if part.isWhole { return (header, taken) }
        }
        return nil
    }

    @Test("costs no more than its greatest length, whatever follows its first bytes")
    func cost() {
        let starts = [
            Array("PROXY ".utf8), Array("PROXY TCP4 ".utf8), Self.signature, Self.block(0x21, [], length: 520),
        ]
        for worst in WorstInput.allCases {
            for start in starts {
                let bytes = start + worst.bytes(65_536)
                #expect(WorstInput.isQuick { _ = try? read(bytes, by: 1) }, "\(worst) after \(start)")
            }
        }
    }

    @Test("both versions are read, however they arrive, and no byte after them", arguments: valid)
    func reads(_ bytes: [UInt8], _ client: String?) throws {
        for size in [1, 5, 16, 10_000] {
            let (header, taken) = try #require(try read(bytes + Array("\u{16}GET /".utf8), by: size))
            #expect(taken == bytes.count && header.count == bytes.count)
            #expect(header.client?.description == client)
        }
        for length in bytes.indices { #expect(try read(Array(bytes[..<length]), by: 7) == nil) }
    }

    static let invalid: [(bytes: [UInt8], fault: ProxyHeader.Fault)] = [
        (Array("GET / HTTP/1.1\r\n".utf8), .foreign), ([0x16, 0x03, 0x01], .foreign),
        (Array("PROXYTCP4".utf8), .foreign),
        (Array("proxy TCP4".utf8), .foreign), (Array(signature.dropLast()) + [0], .foreign),
        (Array("PROXY UNKNOWN \(String(repeating: "f", count: 92))\r\n".utf8), .longLine),
        (Array("PROXY UNKNOWN\n".utf8), .line), (Array("PROXY \r\n".utf8), .line),
        (Array("PROXY UDP4 1 2 3 4\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1 56789\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9  192.0.2.1 56789 443\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1 56789 443 \r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.999 192.0.2.1 56789 443\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 example.org 56789 443\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1 65536 443\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1 +1 443\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1 01 443\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1 -1 443\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1 1e4 443\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1  443\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1 1 9223372036854775807\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1 99999999999999999999 443\r\n".utf8), .line),
        (Array("PROXY TCP4 203.0.113.9 192.0.2.1 1 \r\n".utf8), .line),
        (Array("PROXY TCP4 2001:db8::7 2001:db8::1 56789 443\r\n".utf8), .line),
        (Array("PROXY TCP6 203.0.113.9 192.0.2.1 56789 443\r\n".utf8), .line),
        (Array("PROXY TCP6 [2001:db8::7] 2001:db8::1 56789 443\r\n".utf8), .line),
        (block(0x11, old, command: 0x11), .version), (block(0x11, old, command: 0x31), .version),
        (block(0x11, old, command: 0x22), .command),
        (block(0x11, old, command: 0x2F), .command), (block(0x13, old), .family), (block(0x41, old), .family),
        (block(0x11, Array(old.dropLast())), .short), (block(0x21, old), .short), (block(0x31, new), .short),
        (block(0x11, old, length: 521), .long), (block(0x00, [], command: 0x20, length: 65535), .long),
    ]

    @Test("anything else is refused with what is wrong", arguments: invalid)
    func refuses(_ bytes: [UInt8], _ fault: ProxyHeader.Fault) throws {
        for size in [1, 10_000] { #expect(throws: fault) { try read(bytes, by: size) } }
    }

    @Test("mutated headers are read or refused, within the longest header, alike in one part and in many")
    func mutated() {
        var generator = SeededGenerator(seed: 4711)
        for _ in 0..<20_000 {
            let bytes = Mutation.mutate(Self.valid.map(\.header), using: &generator)
            let results = [1, 10_000].map { size in
                Result { () throws(ProxyHeader.Fault) in
                    try read(bytes, by: size).map { "\($0.0.client?.description ?? "none") \($0.taken)" }
                }
            }
            #expect(results[0] == results[1])
            if case .success(let whole?) = results[0] {
                #expect(Int(whole.split(separator: " ")[1])! <= ProxyHeader.longest)
            }
        }
    }

    @Test(
        "the client is the rightmost address in X-Forwarded-For that is no proxy",
        arguments: [
            (nil, "10.0.0.1"), ("", "10.0.0.1"), ("203.0.113.9", "203.0.113.9"),
            ("198.51.100.1, 203.0.113.9", "203.0.113.9"), ("203.0.113.9, 10.0.0.2", "203.0.113.9"),
            ("198.51.100.1,203.0.113.9 , 10.1.2.3,10.0.0.2", "203.0.113.9"),
            ("10.0.0.3, 10.0.0.2", "10.0.0.3"), ("unknown, 10.0.0.2", "10.0.0.2"), ("203.0.113.9, _x", "10.0.0.1"),
            ("203.0.113.9,", "10.0.0.1"), ("[2001:db8::7]", "2001:db8::7"), ("2001:db8::7", "2001:db8::7"),
            ("203.0.113.9:51234", "203.0.113.9:51234"), ("[2001:db8::9]:443", "[2001:db8::9]:443"),
            ("198.51.100.1:1, 203.0.113.9:2 ,10.0.0.2:3", "203.0.113.9:2"), ("\t203.0.113.9\t", "203.0.113.9"),
            // An address of IPv6 without brackets has no port.
            ("2001:db8::9:443", "2001:db8::9:443"), ("[::ffff:203.0.113.9]:80", "203.0.113.9:80"),
        ] as [(String?, String)])
    func forwarded(_ header: String?, _ client: String) throws {
        let proxies = TrustedProxies(addresses: [try #require(AddressRange("10.0.0.0/8"))])
        let peer = try #require(PeerAddress(numeric: "10.0.0.1"))
        let forwarded = proxies.forwarded(behind: peer, header)
        #expect(forwarded.client.description == client)
        let hasUnreadable = ["unknown, 10.0.0.2", "203.0.113.9, _x", "203.0.113.9,"].contains(header)
        #expect((forwarded.unreadable != nil) == hasUnreadable)
        // The limit is that of the address, whatever the port.
        #expect(forwarded.client.network == PeerAddress(withPort: client)?.network)
    }

    @Test("X-Forwarded-For costs as much as it is long, and little at its greatest length")
    func costOfForwarded() throws {
        let proxies = TrustedProxies(addresses: [try #require(AddressRange("10.0.0.0/8"))])
        let peer = try #require(PeerAddress(numeric: "10.0.0.1"))
        for unit in ["10.0.0.1,", "1.1.1.1:1,", "[::1]:1,", ",", " ", "?"] {
            func list(_ count: Int) -> String { String(repeating: unit, count: count / unit.utf8.count) + "10.0.0.1" }
            let growth = WorstInput.growth(at: 7000, of: list) { _ = proxies.forwarded(behind: peer, $0) }
            #expect(growth <= WorstInput.mostGrowth, "\(unit)")
            let longest = list(RequestHead.longest)
            #expect(WorstInput.isQuick { _ = proxies.forwarded(behind: peer, longest) }, "\(unit)")
        }
    }

    @Test(
        "an entry that is no address is told, and the client is the proxy that wrote it",
        arguments: [
            "unknown", "_hidden", "203.0.113.9:", "203.0.113.9:65536", "203.0.113.9:+80", "203.0.113.9:80:81",
            "[2001:db8::9]443", "[2001:db8::9", "2001:db8::9]:443", "[2001:db8::9]:x", "\"[2001:db8::9]:443\"", ":80",
            "203.0.113.9:80:", "fe80::1%eth0", "example.com:80", "[]:80", String(repeating: "x", count: 5000),
        ])
    func unreadable(_ entry: String) throws {
        let proxies = TrustedProxies(addresses: [try #require(AddressRange("10.0.0.0/8"))])
        let peer = try #require(PeerAddress(numeric: "10.0.0.1"))
        let forwarded = proxies.forwarded(behind: peer, "203.0.113.7, \(entry), 10.0.0.2")
        #expect(forwarded.client.description == "10.0.0.2")
        let told = try #require(forwarded.unreadable)
        #expect(told.utf8.count <= 64 && " \(entry)".hasPrefix(told))
    }
}
