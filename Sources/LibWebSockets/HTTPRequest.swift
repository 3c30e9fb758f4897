/// An HTTP request on a listener's port.
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

    /// The longest body, in bytes; a longer one gets 413.
    public static let longestBody = 65_536

    public let method: Method
    /// Path and query as they were sent, ASCII. A path segment may contain an escaped `/`, and a value in the query `&`.
    public let target: String
    /// Percent-decoded, without the query: `/v1/calls/x`.
    public let path: String
    public let authorization: String?
    public let contentType: String?
    public let accept: String?
    public let acceptEncoding: String?
    public let ifNoneMatch: String?
    public let idempotencyKey: String?
    /// The name and port that the client used for this server.
    public let host: String?
    /// The page that sent the request; nil without one.
    public let origin: String?
    /// Whether a proxy says that it has forwarded the request: `Forwarded`, `X-Forwarded-For` or `Via`.
    public let isForwarded: Bool
    /// The client's address; behind a trusted proxy, the address from `X-Forwarded-For`.
    public let peer: PeerAddress
    /// The key for limits by address; nil for an address without one: of this machine, or of a proxy.
    public let network: PeerAddress?
    /// At most ``longestBody`` bytes.
    public internal(set) var body: [UInt8]
    /// Whether the handler was shown the head before the body had arrived, and let it come.
    public internal(set) var wasExamined = false

    public init(
        method: Method, target: String = "", path: String, authorization: String? = nil,
        contentType: String? = nil, accept: String? = nil, acceptEncoding: String? = nil, ifNoneMatch: String? = nil,
        idempotencyKey: String? = nil, host: String? = nil, origin: String? = nil, isForwarded: Bool = false,
        peer: PeerAddress = PeerAddress(), network: PeerAddress? = nil, body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.accept = accept
        self.acceptEncoding = acceptEncoding
        self.ifNoneMatch = ifNoneMatch
        self.host = host
        self.origin = origin
        self.isForwarded = isForwarded
        self.idempotencyKey = idempotencyKey
        self.path = path
        self.authorization = authorization
        self.contentType = contentType
        self.peer = peer
        self.network = network
        self.body = body
    }
}

extension HTTPRequest {
    /// Whether a page of this server sent the request, or no page.
    public var isOfSameOrigin: Bool { origin.map { AllowedOrigins.isOrigin($0, of: host) } ?? true }
}

extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the token, the query and the body.
    public var description: String {
        "\(method.rawValue) \(path), authorization \(authorization == nil ? "none" : "‹redacted›"), \(body.count) bytes"
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
