/// The error codes of RST_STREAM and GOAWAY (RFC 9113 §7).
public enum HTTP2ErrorCode: Hashable, Sendable, CustomStringConvertible {
    /// An orderly end of a stream, or of a connection that is being retired.
    case noError
    case protocolError
    case internalError
    case flowControlError
    case settingsTimeout
    case streamClosed
    case frameSizeError
    /// The peer has not processed the stream: the request may be sent again.
    case refusedStream
    case cancel
    case compressionError
    case connectError
    case enhanceYourCalm
    case inadequateSecurity
    case http11Required
    /// A code that RFC 9113 does not define.
    case other(UInt32)

    /// In the order of their numbers, from 0.
    private static let known: [(code: HTTP2ErrorCode, name: String)] = [
        (.noError, "NO_ERROR"), (.protocolError, "PROTOCOL_ERROR"), (.internalError, "INTERNAL_ERROR"),
        (.flowControlError, "FLOW_CONTROL_ERROR"), (.settingsTimeout, "SETTINGS_TIMEOUT"),
        (.streamClosed, "STREAM_CLOSED"), (.frameSizeError, "FRAME_SIZE_ERROR"),
        (.refusedStream, "REFUSED_STREAM"), (.cancel, "CANCEL"), (.compressionError, "COMPRESSION_ERROR"),
        (.connectError, "CONNECT_ERROR"), (.enhanceYourCalm, "ENHANCE_YOUR_CALM"),
        (.inadequateSecurity, "INADEQUATE_SECURITY"), (.http11Required, "HTTP_1_1_REQUIRED"),
    ]

    public init(wireValue: UInt32) {
        // Fast path: the code of nearly every stream.
        guard wireValue != 0 else {
            self = .noError
            return
        }
        self = wireValue < UInt32(Self.known.count) ? Self.known[Int(wireValue)].code : .other(wireValue)
    }

    /// The number on the wire.
    public var wireValue: UInt32 {
        switch self {
        case .noError: 0
        case .protocolError: 1
        case .internalError: 2
        case .flowControlError: 3
        case .settingsTimeout: 4
        case .streamClosed: 5
        case .frameSizeError: 6
        case .refusedStream: 7
        case .cancel: 8
        case .compressionError: 9
        case .connectError: 10
        case .enhanceYourCalm: 11
        case .inadequateSecurity: 12
        case .http11Required: 13
        case .other(let value): value
        }
    }

    /// The RFC's name, `REFUSED_STREAM`, or the number.
    public var description: String {
        let value = wireValue
        return value < UInt32(Self.known.count) ? Self.known[Int(value)].name : "error \(value)"
    }
}
