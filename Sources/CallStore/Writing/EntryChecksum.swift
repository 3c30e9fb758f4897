import Foundation

/// Detects a journal entry that was changed, or belongs to another store.
///
/// Not cryptographic. Each step is reversible, so that every single change alters the sum.
enum EntryChecksum {
    static func of(_ operations: UnsafeRawBufferPointer, entry: Int64, store: Data) -> Int64 {
        var state = UInt64(bitPattern: entry) ^ 0x243F_6A88_85A3_08D3
        store.withUnsafeBytes { mix($0, into: &state) }
        mix(operations, into: &state)
        return Int64(bitPattern: state)
    }

    private static func mix(_ bytes: UnsafeRawBufferPointer, into state: inout UInt64) {
        mix(UInt64(bytes.count), into: &state)
        let whole = bytes.count & ~7
        for offset in stride(from: 0, to: whole, by: 8) {
            mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)), into: &state)
        }
        for byte in bytes[whole...] { mix(UInt64(byte), into: &state) }
    }

    /// Multiplication by an odd number and an xor with a shift are bijective.
    private static func mix(_ word: UInt64, into state: inout UInt64) {
        state = (state ^ word) &* 0x9E37_79B9_7F4A_7C15
        state ^= state >> 29
    }
}
