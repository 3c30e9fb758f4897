/// Detects an invite repeated with another body: FNV-1a (Fowler, Noll, Vo), but over eight bytes at a time, for speed.
/// Not collision-resistant against an attacker: a client's bodies are compared only with its own.
struct BodyDigest {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func mix(_ word: UInt64) {
        value = (value ^ word) &* 0x100_0000_01b3
        // The high bits of a product depend on all bits of its factors, the low bits on their low bits only: fold them.
        value ^= value >> 32
    }

    /// Appends the length, so that two adjacent fields cannot be confused.
    mutating func mix(_ bytes: [UInt8]) { bytes.withUnsafeBytes { mix($0) } }

    /// - Parameter kind: the kind of text, mixed in before it.
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
