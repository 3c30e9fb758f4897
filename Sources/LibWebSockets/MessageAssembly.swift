/// A piece of a WebSocket message as the library hands it out.
package struct MessageChunk {
    package let bytes: UnsafeRawBufferPointer
    package let isFirst: Bool
    package let isFinal: Bool
    package let isBinary: Bool
    /// How many bytes of the same frame are still to come.
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

/// What a peer sent that ends the connection.
package enum MessageFault {
    case binary
    case tooLarge
    case invalidText

    /// The close code, by RFC 6455 or, above 3000, by the protocol.
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

/// Puts text messages together again, with a bound. A message that comes whole is passed on without a copy.
package struct MessageAssembly {
    private var gathered: [UInt8] = []

    package init() {}

    /// - Parameter limit: the longest message, in bytes.
    /// - Returns: what is wrong with the message, if anything; `deliver` was not called then.
    package mutating func take(
        _ chunk: MessageChunk, limit: Int, deliver: (UnsafeRawBufferPointer) -> Void
    ) -> MessageFault? {
        // The library loses the end of a message that a peer closes with an empty frame in a long header (lws 4.1):
        // a first piece begins anew whatever was there.
        if chunk.isFirst { gathered = [] }
        if chunk.isBinary { return fail(.binary) }
        guard gathered.count + chunk.bytes.count + chunk.remaining <= limit else { return fail(.tooLarge) }
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

/// Checked here, not by the library: its check costs one table look-up a byte, and after it has failed a message it
/// does not tell its user that the connection is closing (lws 4.1).
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
