/// One request of a client, complete with its body.
///
/// Names and values are sent as they are. Neither may hold control characters: the peer resets a stream that does.
public struct HTTP2Request: Sendable {
    public var method: String
    public var scheme: String
    /// Host, and port if it is not the scheme's own.
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
    /// Without the body, and without a path that carries what is sensitive.
    public var description: String {
        "\(method) \(scheme)://\(authority)\(isPathSensitive ? "/‹redacted›" : path) \(fields), \(body.count) bytes"
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
