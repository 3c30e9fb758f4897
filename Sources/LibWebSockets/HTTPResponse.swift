/// The response to an ``HTTPRequest``.
public struct HTTPResponse: Sendable {
    /// 100 to 599.
    public var status: Int
    public var contentType: String
    /// Further headers. A header with a line break is omitted.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    public init(
        status: Int, contentType: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.headers = headers
        self.body = body
    }

    public static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }

    public static func json(_ body: [UInt8], status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, contentType: "application/json", body: body)
    }
}
