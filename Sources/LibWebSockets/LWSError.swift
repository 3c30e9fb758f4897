/// A failed call into libwebsockets, with advice.
public struct LWSError: Error, CustomStringConvertible, Sendable {
    public let operation: String
    /// The library's message, or the known cause.
    public let detail: String

    public var description: String { "\(operation): \(detail)" }
}
