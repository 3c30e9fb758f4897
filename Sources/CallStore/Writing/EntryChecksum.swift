import Foundation

/// Tells a journal entry from one that was changed, or is another store's.
///
/// Not against people who would deceive: each step is reversible, so that no single change goes unnoticed.
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

    /// A multiplication by an odd number, and a shift that xors, lose nothing.
    private static func mix(_ word: UInt64, into state: inout UInt64) {
        state = (state ^ word) &* 0x9E37_79B9_7F4A_7C15
        state ^= state >> 29
    }
}
