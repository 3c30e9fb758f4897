/// Text messages of a server, and an optional close frame after them, framed for one write.
///
/// A separate write for each message takes a system call, a segment and a wake-up of the peer. A batch takes one of
/// each.
public struct FrameBatch {
    /// FIN and the opcode of a close frame.
    private static let closeFrame: UInt8 = 0x88
    /// The size of a header with a 16-bit length, reserved before each payload. Most frames need it.
    private static let usualHeader = 4

    package private(set) var bytes: [UInt8] = []
    /// The ranges of the payloads in ``bytes``.
    private var messages: [Range<Int>] = []
    /// Payload bytes of all messages.
    public private(set) var messageBytes = 0

    public init() {}

    public var isEmpty: Bool { messages.isEmpty }
    public var count: Int { messages.count }

    /// Adds a message. `write` appends its payload to the buffer, which already holds earlier frames.
    public mutating func append(_ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        for _ in 0..<Self.usualHeader { bytes.append(0) }
        write(&bytes)
        let length = bytes.count - start - Self.usualHeader
        fillHeader(at: start, length: length)
        messages.append(bytes.count - length..<bytes.count)
        messageBytes += length
    }

    /// Adds a close frame. No frame may follow.
    ///
    /// - Parameters:
    /// - code: nil for an empty close frame.
    ///   - reason: at most 123 bytes of it are sent.
    package mutating func appendClose(code: UInt16?, reason: String) {
        guard let code else {
            bytes += [Self.closeFrame, 0]
            return
        }
        let reason = CloseFrame.reason(reason)
        bytes += [Self.closeFrame, UInt8(2 + reason.count), UInt8(code >> 8), UInt8(code & 0xFF)]
        bytes += reason
    }

    /// Writes the shortest header for the length, as the RFC demands, into the reserved bytes.
    private mutating func fillHeader(at start: Int, length: Int) {
        switch length {
        case ..<126:
            // The header is two bytes shorter than reserved: the payload moves.
            bytes[start] = TextFrame.opcode
            bytes[start + 1] = UInt8(length)
            bytes.withUnsafeMutableBytes { bytes in
                let text = UnsafeRawBufferPointer(rebasing: bytes[(start + Self.usualHeader)...])
                UnsafeMutableRawBufferPointer(rebasing: bytes[(start + 2)...]).copyMemory(from: text)
            }
            bytes.removeLast(Self.usualHeader - 2)
        case ..<0x1_0000:
            bytes[start] = TextFrame.opcode
            bytes[start + 1] = 126
            bytes[start + 2] = UInt8(length >> 8)
            bytes[start + 3] = UInt8(length & 0xFF)
        default:
            var header = [TextFrame.opcode]
            TextFrame.appendLength(length, isMasked: false, to: &header)
            bytes.replaceSubrange(start..<start + Self.usualHeader, with: header)
        }
    }

    /// Calls `body` with the payload of each message, in order.
    package func forEachMessage(_ body: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes { bytes in
            for message in messages { body(UnsafeRawBufferPointer(rebasing: bytes[message])) }
        }
    }

    /// Keeps the memory for the next batch.
    public mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        messages.removeAll(keepingCapacity: true)
        messageBytes = 0
    }
}
