/// One request as a server got it, complete with its body.
public struct HTTP2ServerRequest: Sendable {
    public let method: String
    public let scheme: String
    public let authority: String
    public let path: String
    /// All but the pseudo-header fields, in the order of the wire, repeated ones repeated.
    public let fields: [HTTPField]
    public let body: [UInt8]
    /// Whether more came than ``HTTP2ServerSettings/maxBody`` allows; `body` then holds only that much.
    public let isBodyTruncated: Bool

    public init(
        method: String, scheme: String, authority: String, path: String, fields: [HTTPField], body: [UInt8],
        isBodyTruncated: Bool
    ) {
        self.method = method
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.fields = fields
        self.body = body
        self.isBodyTruncated = isBodyTruncated
    }

    /// The value of the first field of that name (lower case).
    public func first(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }
}
