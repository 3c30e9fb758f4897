/// One complete request of a client.
///
/// Names and values are sent unchanged. They must not contain control characters: the peer resets such a stream.
public struct HTTP2Request: Sendable {
    public var method: String
    public var scheme: String
    /// The host, and the port if it is not the scheme's default.
    public var authority: String
    public var path: String
    /// Keeps `:path` out of HPACK's tables; see ``HTTPField/isSensitive``.
    public var isPathSensitive: Bool
    public var fields: [HTTPField]
    /// Empty: the request ends with its header.
    public var body: [UInt8]

    public init(
        method: String, scheme: String = "https", authority: String, path: String, isPathSensitive: Bool = false,
        fields: [HTTPField] = [], body: [UInt8] = []
    ) {
        self.method = method
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.isPathSensitive = isPathSensitive
        self.fields = fields
        self.body = body
    }
}

extension HTTP2Request: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Omits the body, and a sensitive path.
    public var description: String {
        "\(method) \(scheme)://\(authority)\(isPathSensitive ? "/‹redacted›" : path) \(fields), \(body.count) bytes"
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
