import EventLoop

/// Text messages of a client, masked and framed for one write.
///
/// The library masks byte by byte, reads a key from the system for each frame and sends each frame separately. That
/// costs two system calls a frame.
struct MaskedFrames {
    /// The largest buffer kept for reuse, in bytes.
    private static let largestSpare = 256 * 1024

    private(set) var bytes: [UInt8] = []
    /// Masking keys must be unpredictable (RFC 6455, 5.3).
    private var random = SystemRandomness()
    /// The unused half of a 64-bit random number.
    private var spareKey: UInt32?

    mutating func append(_ text: [UInt8]) {
        bytes.append(TextFrame.opcode)
        TextFrame.appendLength(text.count, isMasked: true, to: &bytes)
        let key = nextKey()
        withUnsafeBytes(of: key) { bytes.append(contentsOf: $0) }
        appendMasked(text, by: key)
    }

    /// Keeps a small buffer for reuse.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.largestSpare)
    }

    private mutating func nextKey() -> UInt32 {
        if let key = spareKey {
            spareKey = nil
            return key
        }
        let number = random.next()
        spareKey = UInt32(truncatingIfNeeded: number >> 32)
        return UInt32(truncatingIfNeeded: number)
    }

    /// - Parameter key: in the byte order of the frame.
    private mutating func appendMasked(_ text: [UInt8], by key: UInt32) {
        let start = bytes.count
        bytes.append(contentsOf: text)
        let wide = UInt64(key) | UInt64(key) << 32
        bytes.withUnsafeMutableBytes { bytes in
            var place = start
            while place + 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                bytes.storeBytes(of: word ^ wide, toByteOffset: place, as: UInt64.self)
                place += 8
            }
            // The key has four bytes, so the remainder begins at its first byte.
            withUnsafeBytes(of: wide) { key in
                for index in 0..<bytes.count - place { bytes[place + index] ^= key[index] }
            }
        }
    }
}
