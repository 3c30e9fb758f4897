import CallVocabulary

/// The header with which a proxy begins a connection, to tell the client's address: PROXY protocol, versions 1 and 2
/// (HAProxy's `proxy-protocol.txt`). Takes the header byte by byte and never a byte after it.
///
///     start ──"PROXY "──▶ version 1 ──line's end──▶ whole
///       └───signature───▶ version 2 ──length──▶ whole
public struct ProxyHeader {
    /// Why a connection does not begin with a valid header, as a sentence for the operator.
    public enum Fault: String, Error, CaseIterable, Sendable {
        case foreign = "the connection does not begin with a PROXY protocol header"
        case longLine = "the line of version 1 is longer than 107 bytes"
        case line = "the line of version 1 is not PROXY, TCP4, TCP6 or UNKNOWN, two addresses and two ports"
        case version = "the version is neither 1 nor 2"
        case command = "the command of version 2 is neither LOCAL nor PROXY"
        case family = "the address family or transport of version 2 is unknown"
        case short = "the length of version 2 leaves no room for the addresses"
        case long = "the header of version 2 is longer than 536 bytes"
        case ended = "the connection ended within the PROXY protocol header"
        case late = "the PROXY protocol header did not arrive in time"
    }

    /// The longest line of version 1, its end included.
    static let longestLine = 107
    /// The longest header of version 2: it fits any TCP segment.
    package static let longest = 536
    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    private static let prefix = Array("PROXY ".utf8)
    /// The fixed part of version 2.
    private static let fixed = 16

    private var bytes: [UInt8] = []
    /// The client's address once the header is whole; nil if the header has none: a proxy's own check, an unknown or
    /// a Unix client. The address of the socket is used then.
    package private(set) var client: PeerAddress?

    package init() {}

    package var count: Int { bytes.count }

    /// Whether these bytes begin with a header of either version.
    package static func begins(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.starts(with: prefix) || bytes.starts(with: signature)
    }

    /// - Returns: how many of the bytes belong to the header, and whether it is whole with them.
    package mutating func read(_ more: ArraySlice<UInt8>) throws(Fault) -> (taken: Int, isWhole: Bool) {
        for (index, byte) in more.enumerated() {
            bytes.append(byte)
            if try isWhole() { return (index + 1, true) }
        }
        return (more.count, false)
    }

    private mutating func isWhole() throws(Fault) -> Bool {
        let start = bytes[0] == Self.prefix[0] ? Self.prefix : Self.signature
        guard bytes.count > start.count else {
            guard start.starts(with: bytes) else { throw .foreign }
            return false
        }
        return try start == Self.prefix ? isLineWhole() : isBlockWhole()
    }

    // MARK: Version 1

    private mutating func isLineWhole() throws(Fault) -> Bool {
        guard bytes.last == UInt8(ascii: "\n") else {
            guard bytes.count < Self.longestLine else { throw .longLine }
            return false
        }
        guard bytes.dropLast().last == UInt8(ascii: "\r") else { throw .line }
        let words = bytes.dropLast(2).split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        switch words[1] {
        // The rest of the line is to be ignored.
        case "UNKNOWN": break
        case "TCP4" where words.count == 6, "TCP6" where words.count == 6:
            let hasColons = words[1] == "TCP6"
            guard let source = Self.address(words[2], words[4], hasColons),
                Self.address(words[3], words[5], hasColons) != nil
            else { throw .line }
            client = source
        default: throw .line
        }
        return true
    }

    private static func address(_ host: String, _ port: String, _ hasColons: Bool) -> PeerAddress? {
        guard host.contains(":") == hasColons, !host.contains("["), port == "0" || !port.hasPrefix("0"),
            let port = UInt16(digits: port, in: 0...UInt16.max)
        else { return nil }
        return PeerAddress(numeric: host, port: port)
    }

    // MARK: Version 2

    private mutating func isBlockWhole() throws(Fault) -> Bool {
        guard bytes.count >= Self.fixed else { return false }
        let length = Int(bytes[14]) << 8 | Int(bytes[15])
        guard bytes[12] >> 4 == 2 else { throw .version }
        guard Self.fixed + length <= Self.longest else { throw .long }
        let isLocal = bytes[12] & 0x0F == 0
        guard isLocal || bytes[12] & 0x0F == 1 else { throw .command }
        // A proxy's own connection: whatever follows is to be ignored.
        let addresses = try isLocal ? 0 : addressBytes()
        guard length >= addresses else { throw .short }
        guard bytes.count == Self.fixed + length else { return false }
        // Over TCP only; the addresses are followed by TLVs.
        guard !isLocal, bytes[13] == 0x11 || bytes[13] == 0x21 else { return true }
        let size = (addresses - 4) / 2
        let port = Self.fixed + 2 * size
        client = PeerAddress(
            bytes: bytes[Self.fixed..<Self.fixed + size], port: UInt16(bytes[port]) << 8 | UInt16(bytes[port + 1]))
        return true
    }

    /// The length of the addresses of this family, with their ports.
    private func addressBytes() throws(Fault) -> Int {
        // Unspecified, stream, datagram.
        guard bytes[13] & 0x0F <= 2 else { throw .family }
        switch bytes[13] >> 4 {
        case 0: return 0
        case 1: return 12
        case 2: return 36
        // Two names of Unix sockets.
        case 3: return 216
        default: throw .family
        }
    }
}
