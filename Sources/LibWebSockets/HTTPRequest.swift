/// A plain HTTP request that came over the port of a WebSocket listener.
public struct HTTPRequest: Sendable {
    public enum Method: String, Sendable, CaseIterable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
        case options = "OPTIONS"
    }

    /// The longest body taken, in bytes; a longer one is answered with 413.
    public static let longestBody = 65_536

    public let method: Method
    /// The path with its percent escapes decoded: `/v1/calls/x`.
    public let path: String
    /// What stands behind the `?`, with its percent escapes decoded; empty without one.
    public let query: String
    /// The value of the `Authorization` header.
    public let authorization: String?
    public let contentType: String?
    /// The client's address, as a proxy in front of the server tells it where there is one.
    public let peer: PeerAddress
    /// At most 64 KiB: longer ones were answered with 413.
    public let body: [UInt8]

    public init(
        method: Method, path: String, query: String = "", authorization: String? = nil, contentType: String? = nil,
        peer: PeerAddress = PeerAddress(), body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.authorization = authorization
        self.contentType = contentType
        self.peer = peer
        self.body = body
    }
}

extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the credential, the query and the body.
    public var description: String {
        "\(method.rawValue) \(path), authorization \(authorization == nil ? "none" : "‹redacted›"), \(body.count) bytes"
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
