/// One header field of a request or response.
public struct HTTPField: Hashable, Sendable {
    /// In lower case, as HTTP/2 has it on the wire.
    public let name: String
    public let value: String
    /// Whether HPACK must never put it into a table, here or in an intermediary (RFC 7541 §7.1.3).
    ///
    /// For what is secret and short, and for what differs with every request and would only push others out.
    public let isSensitive: Bool

    public init(_ name: String, _ value: String, isSensitive: Bool = false) {
        self.name = name
        self.value = value
        self.isSensitive = isSensitive
    }
}

extension HTTPField: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the value of what is sensitive or a credential.
    public var description: String { "\(name): \(isSensitive || name == "authorization" ? "‹redacted›" : value)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
