/// One header field of a request or response.
public struct HTTPField: Hashable, Sendable {
    /// In lower case, as on the wire.
    public let name: String
    public let value: String
    /// Whether HPACK must never index the field, here or in an intermediary (RFC 7541 §7.1.3).
    ///
    /// For short secrets, and for values that differ in every request and would evict others.
    public let isSensitive: Bool

    public init(_ name: String, _ value: String, isSensitive: Bool = false) {
        self.name = name
        self.value = value
        self.isSensitive = isSensitive
    }
}

extension HTTPField: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Redacts sensitive values and credentials.
    public var description: String { "\(name): \(isSensitive || name == "authorization" ? "‹redacted›" : value)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
