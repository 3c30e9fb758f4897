import EventLoop

/// Text messages of a client, masked, one behind the other, to leave in one write.
///
/// The library masks byte by byte, with a key that it reads from the system for each frame, and sends each frame by itself:
/// two system calls for each, where frames that are put together here take one.
struct MaskedFrames {
    /// What a buffer has room for that is kept for the next frames, in bytes.
    private static let largestSpare = 256 * 1024

    /// The frames as they go on the wire.
    private(set) var bytes: [UInt8] = []
    /// Nobody may be able to tell the next key (RFC 6455, 5.3).
    private var random = SystemRandomness()
    /// Of one number, the half that is not used yet.
    private var spareKey: UInt32?

    /// Adds one message.
    mutating func append(_ text: [UInt8]) {
        bytes.append(TextFrame.opcode)
        TextFrame.appendLength(text.count, isMasked: true, to: &bytes)
        let key = nextKey()
        withUnsafeBytes(of: key) { bytes.append(contentsOf: $0) }
        appendMasked(text, by: key)
    }

    /// Keeps the memory for the next frames, unless it is much.
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

    /// - Parameter key: its bytes in memory are those of the frame, in order.
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
            // Eight bytes are twice the key: what is left begins at its first byte again.
            withUnsafeBytes(of: wide) { key in
                for index in 0..<bytes.count - place { bytes[place + index] ^= key[index] }
            }
        }
    }
}
