import CallVocabulary

/// A request to another server.
public struct WebRequest: Sendable {
    public enum Method: String, Sendable { case get = "GET", post = "POST" }

    public var method: Method
    public var address: WebAddress
    /// Header fields. The client adds `Host`, `Accept`, `User-Agent`, `Content-Length` and `Accept-Encoding`.
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]
    /// The timeout for the whole exchange: name resolution, all attempts, and the answer to its last byte.
    public var patience: Duration
    /// The most bytes of the answer's body. A longer answer is a failure.
    public var longestAnswer: Int
    /// Whether the receiver may get the request twice. If a kept connection closes without an answer, the request is
    /// sent again on a new connection.
    public var isRepeatable: Bool

    public init(
        _ method: Method, _ address: WebAddress, fields: [(name: String, value: String)] = [], body: [UInt8] = [],
        patience: Duration, longestAnswer: Int, isRepeatable: Bool
    ) {
        for (name, value) in fields {
            let isClean = (name + value).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            precondition(isClean && !name.isEmpty, "a header field has no control characters")
        }
        self.method = method
        self.address = address
        self.fields = fields
        self.body = body
        self.patience = patience
        self.longestAnswer = longestAnswer
        self.isRepeatable = isRepeatable
    }

    /// The bytes of the request (RFC 9112).
    func bytes(userAgent: String) -> [UInt8] {
        var lines = ["\(method.rawValue) \(address.target) HTTP/1.1", "Host: \(address.authority)"]
        lines += ["Accept: application/json, */*;q=0.1", "Accept-Encoding: identity", "User-Agent: \(userAgent)"]
        if method == .post { lines.append("Content-Length: \(body.count)") }
        lines += fields.map { "\($0.name): \($0.value)" } + ["", ""]
        return Array(lines.joined(separator: "\r\n").utf8) + body
    }
}

/// The answer of another server, of any status.
public struct WebAnswer: Equatable, Sendable {
    public var status: Int
    /// In order, the names in lower case.
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]

    public init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// The field's values, joined with commas (RFC 9110, section 5.3); nil if the answer does not have the field.
    /// - Parameter name: in lower case.
    public func field(_ name: String) -> String? {
        let values = fields.filter { $0.name == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The members of a field that is a list, in lower case.
    func tokens(of name: String) -> [String] {
        (field(name) ?? "").lowercased().split(separator: ",").map { AnswerReader.trimmed($0) }
    }

    /// How long the peer keeps the connection without a request, from 0 to 3600 s (`Keep-Alive: timeout=`); 0 for what is
    /// no number; nil if it does not say.
    var keepAliveSeconds: Int? {
        let prefix = "timeout="
        return tokens(of: "keep-alive").first { $0.hasPrefix(prefix) }
            .map { Int(digits: $0.dropFirst(prefix.count), atMost: 3600) ?? 0 }
    }

    /// `Retry-After` in seconds, at most a day; nil without it, for 0, and for a date.
    package var retryAfter: Duration? {
        field("retry-after").flatMap { Int(digits: $0, atMost: 86_400) }.flatMap { $0 > 0 ? .seconds($0) : nil }
    }

    public static func == (a: Self, b: Self) -> Bool {
        a.status == b.status && a.body == b.body && a.fields.elementsEqual(b.fields) { $0 == $1 }
    }
}

/// Why there is no answer: the name, the connection, TLS, the timeout, or bytes that are not HTTP/1.1.
public struct WebFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// May quote the peer: in each case short and printable.
    public let description: String
    /// Whether no connection was made, so that the peer has not seen the request.
    public let isUnsent: Bool
    private static let longest = 1000

    public init(description: String, isUnsent: Bool = false) {
        self.description = description.printable(upTo: Self.longest)
        self.isUnsent = isUnsent
    }
}
