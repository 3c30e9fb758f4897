/// A stream of one connection. Streams of the client are odd and count up; 0 is the connection itself.
public struct StreamID: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let rawValue: Int32

    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    public static func < (left: StreamID, right: StreamID) -> Bool { left.rawValue < right.rawValue }

    public var description: String { String(rawValue) }
}
