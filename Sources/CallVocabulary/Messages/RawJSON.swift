/// One JSON value, kept byte for byte: SDP, ICE candidates, an app's own data.
public struct RawJSON: Hashable, Sendable {
    public let bytes: [UInt8]

    /// - Parameter bytes: exactly one JSON value, without white space around it. The scanner has checked it.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }
}

extension RawJSON: Redacted {
    /// The size only: the content is private to the parties.
    public var description: String { "‹\(bytes.count) bytes›" }

    /// The value as text.
    public var json: String { String(decoding: bytes, as: UTF8.self) }
}
