/// One JSON value as the bytes it came in, passed on byte for byte: SDP, ICE candidates, an app's own data.
public struct RawJSON: Hashable, Sendable {
    public let bytes: [UInt8]

    /// - Parameter bytes: exactly one JSON value, without white space around it. The scanner has checked it.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }
}

extension RawJSON: CustomStringConvertible {
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}
