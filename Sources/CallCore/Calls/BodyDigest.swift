/// Tells bodies of invites apart: FNV-1a (Fowler, Noll, Vo), but eight bytes at a time, because it sees each byte of an SDP.
/// Not for what somebody has a reason to forge: a client compares its own bodies with nobody else's.
struct BodyDigest {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func mix(_ word: UInt64) {
        value = (value ^ word) &* 0x100_0000_01b3
        // A product's high bits come from all of its factors', and its low bits only from their low bits.
        value ^= value >> 32
    }

    /// Ends with how many there are, so that two fields never run into one another.
    mutating func mix(_ bytes: [UInt8]) { bytes.withUnsafeBytes { mix($0) } }

    /// - Parameter kind: tells what the text is.
    mutating func mix(_ kind: Unicode.Scalar, _ text: String) {
        mix(UInt64(kind.value))
        var text = text
        text.withUTF8 { mix(UnsafeRawBufferPointer($0)) }
    }

    private mutating func mix(_ bytes: UnsafeRawBufferPointer) {
        let whole = bytes.count & ~7
        for offset in stride(from: 0, to: whole, by: 8) {
            mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
        }
        mix(bytes[whole...].reversed().reduce(0) { $0 << 8 | UInt64($1) })
        mix(UInt64(bytes.count))
    }
}
