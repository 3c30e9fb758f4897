/// A call into libwebsockets that failed: what was tried and what can be done.
public struct LWSError: Error, CustomStringConvertible, Sendable {
    public let operation: String
    /// What the library said of it, or what is known to cause it.
    public let detail: String

    public var description: String { "\(operation): \(detail)" }
}
