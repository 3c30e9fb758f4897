/// A part of a WebSocket message, as the library delivers it.
package struct MessageChunk {
    package let bytes: UnsafeRawBufferPointer
    package let isFirst: Bool
    package let isFinal: Bool
    package let isBinary: Bool
    /// Bytes of the same frame still to come.
    package let remaining: Int

    package init(
        bytes: UnsafeRawBufferPointer, isFirst: Bool, isFinal: Bool, isBinary: Bool, remaining: Int
    ) {
        self.bytes = bytes
        self.isFirst = isFirst
        self.isFinal = isFinal
        self.isBinary = isBinary
        self.remaining = remaining
    }
}

/// An invalid message, which ends the connection.
package enum MessageFault {
    case binary
    case tooLarge
    case invalidText

    /// The close code: of RFC 6455, or above 3000 of Reveille's protocol.
    package var closeCode: UInt16 {
        switch self {
        case .binary: 1003
        case .invalidText: 1007
        case .tooLarge: 3502
        }
    }

    package var reason: String {
        switch self {
        case .binary: "text frames only"
        case .invalidText: "invalid UTF-8"
        case .tooLarge: "message too large"
        }
    }
}

/// Joins the parts of text messages, up to a limit. A message in one part is passed on without a copy.
package struct MessageAssembly {
    private var gathered: [UInt8] = []

    package init() {}

    /// - Parameter limit: the longest message, in bytes.
    /// - Returns: the fault; nil for a valid message. `deliver` is called for a valid message only.
    package mutating func take(
        _ chunk: MessageChunk, limit: Int, deliver: (UnsafeRawBufferPointer) -> Void
    ) -> MessageFault? {
        // The library omits the last part of a message that ends with an empty frame in a long header (lws 4.1), so a
        // first part always begins a new message.
        if chunk.isFirst { gathered = [] }
        if chunk.isBinary { return fail(.binary) }
        // A peer may announce any length: its sum with another may not fit the integer.
        let room = limit - gathered.count - chunk.bytes.count
        guard room >= 0, (0...room).contains(chunk.remaining) else { return fail(.tooLarge) }
        if chunk.isFirst, chunk.isFinal {
            guard isValidUTF8(chunk.bytes) else { return .invalidText }
            deliver(chunk.bytes)
            return nil
        }
        gathered.append(contentsOf: chunk.bytes)
        guard chunk.isFinal else { return nil }
        let message = gathered
        gathered = []
        return message.withUnsafeBytes { bytes in
            guard isValidUTF8(bytes) else { return .invalidText }
            deliver(bytes)
            return nil
        }
    }

    private mutating func fail(_ fault: MessageFault) -> MessageFault {
        gathered = []
        return fault
    }
}

/// Replaces the library's check, which takes a table look-up for each byte and does not report that the connection
/// closes after a failure (lws 4.1).
func isValidUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.withMemoryRebound(to: UInt8.self) { bytes in
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: bytes.span)
            return true
        } catch {
            return false
        }
    }
}
