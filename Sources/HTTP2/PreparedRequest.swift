/// A request whose header is encoded in advance, so that sending it is cheap.
public struct PreparedRequest: Sendable {
    /// Method, scheme and authority; see ``PreparedFields/init(method:scheme:authority:)``.
    let origin: PreparedFields
    /// Begins with the path; see ``PreparedFields/init(path:isPathSensitive:fields:)``.
    let own: PreparedFields
    /// Sent after ``own``, because pseudo-header fields come first (RFC 9113 §8.3).
    let shared: PreparedFields?
    let body: [UInt8]

    /// - Parameter body: empty: the request ends with its header.
    public init(origin: PreparedFields, own: PreparedFields, shared: PreparedFields? = nil, body: [UInt8]) {
        self.origin = origin
        self.own = own
        self.shared = shared
        self.body = body
    }

    init(_ request: HTTP2Request) {
        self.init(
            origin: PreparedFields(method: request.method, scheme: request.scheme, authority: request.authority),
            own: PreparedFields(
                path: request.path, isPathSensitive: request.isPathSensitive, fields: request.fields),
            body: request.body)
    }
}
