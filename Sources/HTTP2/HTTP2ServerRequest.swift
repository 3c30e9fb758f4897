/// One complete request that a server received.
public struct HTTP2ServerRequest: Sendable {
    public let method: String
    public let scheme: String
    public let authority: String
    public let path: String
    /// All fields except pseudo-header fields, in wire order, with repetitions.
    public let fields: [HTTPField]
    public let body: [UInt8]
    /// Whether the body exceeded ``HTTP2ServerSettings/maxBody``; `body` is then cut to that length.
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
