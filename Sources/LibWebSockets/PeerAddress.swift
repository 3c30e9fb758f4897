import CallVocabulary
import Glibc

/// The address of a peer, in 24 bytes, because every connection stores one.
public struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
    /// The process at the other end of a Unix socket (`SO_PEERCRED`, unix(7)).
    public struct Process: Equatable, Sendable {
        public let user: UInt32
        public let id: Int32
    }

    private var high: UInt64 = 0
    private var low: UInt64 = 0
    private var port: UInt16 = 0
    /// `AF_INET`, `AF_INET6`, `AF_UNIX`, or 0 when unknown.
    private var family: UInt16 = 0

    public init() {}

    package init(descriptor: Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutableBytes(of: &storage) {
            // The storage is never empty.
            getpeername(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard result == 0 else { return }
        withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET:
                let address = bytes.load(as: sockaddr_in.self)
                set(address.sin_addr)
                port = UInt16(bigEndian: address.sin_port)
            case AF_INET6:
                let address = bytes.load(as: sockaddr_in6.self)
                set(address.sin6_addr)
                port = UInt16(bigEndian: address.sin6_port)
            case AF_UNIX: setProcess(descriptor)
            default: break
            }
        }
    }

    /// A numeric address without a port, as proxies write it: `203.0.113.9`, `2001:db8::1`, `[2001:db8::1]`.
    /// - Returns: nil for any other text.
    public init?(numeric text: some StringProtocol, port: UInt16 = 0) {
        let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : String(text)
        guard bare.utf8.count < INET6_ADDRSTRLEN else { return nil }
        var (old, new) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, bare, &old) == 1 {
            set(old)
        } else if inet_pton(AF_INET6, bare, &new) == 1 {
            set(new)
        } else {
            return nil
        }
        self.port = port
    }

    /// A numeric address with or without a port, as proxies write it: also `203.0.113.9:51234`, `[2001:db8::1]:443`.
    /// - Returns: nil for any other text.
    package init?(withPort text: some StringProtocol) {
        if let address = PeerAddress(numeric: text) {
            self = address
            return
        }
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let (host, digits) = (text[..<colon], text[text.index(after: colon)...])
        // Without brackets, several colons are those of an IPv6 address.
        let isWhole = host.hasPrefix("[") ? host.hasSuffix("]") : !host.utf8.contains(UInt8(ascii: ":"))
        guard isWhole, let port = UInt16(digits: digits, in: 0...UInt16.max) else { return nil }
        self.init(numeric: host, port: port)
    }

    /// - Parameter bytes: 4 or 16, in network order.
    package init(bytes: some Collection<UInt8>, port: UInt16) {
        precondition(bytes.count == 4 || bytes.count == 16, "an address has 4 or 16 bytes")
        var (old, new) = (in_addr(), in6_addr())
        if bytes.count == 4 {
            withUnsafeMutableBytes(of: &old) { $0.copyBytes(from: bytes) }
            set(old)
        } else {
            withUnsafeMutableBytes(of: &new) { $0.copyBytes(from: bytes) }
            set(new)
        }
        self.port = port
    }

    private mutating func set(_ address: in_addr) {
        (high, low) = (UInt64(address.s_addr), 0)
        family = UInt16(AF_INET)
    }

    private mutating func set(_ address: in6_addr) {
        var address = address
        withUnsafeBytes(of: &address) {
            high = $0.load(as: UInt64.self)
            low = $0.load(fromByteOffset: 8, as: UInt64.self)
        }
        family = UInt16(AF_INET6)
        // ::ffff:192.0.2.7, an IPv4 client of a dual-stack socket. The words are in network order.
        if high == 0, low.byteSwapped >> 32 == 0xFFFF { set(in_addr(s_addr: UInt32(truncatingIfNeeded: low >> 32))) }
    }

    private mutating func setProcess(_ descriptor: Int32) {
        // `struct ucred`: pid, uid, gid.
        var credentials: (Int32, UInt32, UInt32) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return }
        high = UInt64(UInt32(bitPattern: credentials.0))
        low = UInt64(credentials.1)
        family = UInt16(AF_UNIX)
    }

    /// The peer process of a Unix socket; nil for other connections.
    public var process: Process? {
        guard family == UInt16(AF_UNIX) else { return nil }
        return Process(user: UInt32(truncatingIfNeeded: low), id: Int32(bitPattern: UInt32(truncatingIfNeeded: high)))
    }

    /// Whether there is no address: the peer has reset the connection.
    package var isUnknown: Bool { family == 0 }

    /// Whether the peer is on this machine: a loopback address or a Unix socket.
    public var isLocal: Bool {
        switch Int32(family) {
        case AF_UNIX: true
        // 127.0.0.0/8; the address is in network order.
        case AF_INET: UInt32(truncatingIfNeeded: high).byteSwapped >> 24 == 127
        // ::1
        case AF_INET6: high == 0 && low.byteSwapped == 1
        default: false
        }
    }

    /// The key for limits by address; nil for addresses without one: of this machine, and of proxies, which may stand for
    /// many clients.
    package func limited(behind proxies: TrustedProxies) -> PeerAddress? {
        isLocal || proxies.contains(self) ? nil : network
    }

    /// The key for limits by address: the address without its port, for IPv6 the /64 of a subscriber.
    public var network: PeerAddress {
        var network = self
        network.port = 0
        switch Int32(family) {
        case AF_INET6: network.low = 0
        // Processes of one user share a limit.
        case AF_UNIX: network.high = 0
        default: break
        }
        return network
    }

    /// A network around a /64, of which one client may have all: providers give a /56 or a /48 to one customer.
    public struct WiderNetwork: Hashable, Sendable {
        private let start: PeerAddress
        /// In bits: 56 or 48.
        public let length: Int

        fileprivate init(of address: PeerAddress, length: Int) {
            start = address.prefix(length)
            self.length = length
        }

        /// How many times as much as one /64 it may use. Fewer than it has /64s, so that a client gains little by them.
        public var shares: Int { length == 56 ? 4 : 16 }
    }

    /// The networks that count for limits beside ``network``, from the narrow to the wide; none for IPv4.
    public var widerNetworks: [WiderNetwork] {
        Int32(family) == AF_INET6 ? [56, 48].map { WiderNetwork(of: self, length: $0) } : []
    }

    /// `192.0.2.7:4711`, `[2001:db8::1]:4711`, or without an unknown port; `uid 1000, pid 4711` for a Unix socket;
    /// empty when unknown.
    public var description: String {
        if let process { return "uid \(process.user), pid \(process.id)" }
        guard family != 0 else { return "" }
        var address = (high, low)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(Int32(family), &address, &text, socklen_t(text.count)) != nil else { return "" }
        let host = text.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        guard port != 0 else { return host }
        return family == UInt16(AF_INET6) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// An address or a CIDR block: `10.0.0.5`, `10.1.0.0/16`, `fd00::/8`.
public struct AddressRange: Hashable, Sendable {
    private let start: PeerAddress
    private let length: Int

    /// nil for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2, let address = PeerAddress(numeric: first) else { return nil }
        let all = address.bitCount
        guard let length = parts.count == 2 ? Int(digits: parts[1], in: 0...all) : all else { return nil }
        self.length = length
        start = address.prefix(length)
    }

    package func contains(_ peer: PeerAddress) -> Bool {
        peer.bitCount == start.bitCount && peer.prefix(length) == start
    }
}

extension PeerAddress {
    /// The address's length in bits; 0 without an address.
    fileprivate var bitCount: Int {
        switch Int32(family) {
        case AF_INET: 32
        case AF_INET6: 128
        default: 0
        }
    }

    fileprivate func prefix(_ length: Int) -> PeerAddress {
        func masked(_ bits: UInt64, _ count: Int) -> UInt64 {
            count >= 64 ? bits : (bits.byteSwapped & ~(.max >> UInt64(max(0, count)))).byteSwapped
        }
        var prefix = self
        prefix.port = 0
        if Int32(family) == AF_INET {
            let address = UInt32(truncatingIfNeeded: high).byteSwapped
            prefix.high = UInt64((length == 0 ? 0 : address & (.max << UInt32(32 - length))).byteSwapped)
        } else {
            (prefix.high, prefix.low) = (masked(high, length), masked(low, length - 64))
        }
        return prefix
    }
}
