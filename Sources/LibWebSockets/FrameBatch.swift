/// Text messages of a server, and the close frame that may follow them, one behind the other, to leave in one write.
///
/// A message that is sent by itself takes a system call, a segment and a wake-up of the peer. Those that are ready together
/// for one client cost that once.
public struct FrameBatch {
    /// FIN and the opcode of a close frame.
    private static let closeFrame: UInt8 = 0x88
    /// Of the header with 16 bits of length, which nearly all frames have: room for it is left beforehand.
    private static let usualHeader = 4

    /// The frames as they go on the wire.
    package private(set) var bytes: [UInt8] = []
    /// Where the messages stand in ``bytes``.
    private var messages: [Range<Int>] = []
    /// Bytes of the messages alone.
    public private(set) var messageBytes = 0

    public init() {}

    public var isEmpty: Bool { messages.isEmpty }
    /// How many messages there are.
    public var count: Int { messages.count }

    /// Adds one message: what `write` appends to the buffer it is given, which holds other bytes already.
    public mutating func append(_ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        for _ in 0..<Self.usualHeader { bytes.append(0) }
        write(&bytes)
        let length = bytes.count - start - Self.usualHeader
        fillHeader(at: start, length: length)
        messages.append(bytes.count - length..<bytes.count)
        messageBytes += length
    }

    /// Adds a close frame, after which nothing may follow. It is no message.
    ///
    /// - Parameters:
    ///   - code: nil for a frame with nothing in it.
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

    /// The shortest form that holds the length, as the RFC demands, in the place kept for it.
    private mutating func fillHeader(at start: Int, length: Int) {
        switch length {
        case ..<126:
            // Two bytes shorter: what follows moves up.
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

    /// Calls `body` with each message in order, as it was before it was framed.
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
