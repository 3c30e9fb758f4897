/// The head of an HTTP/1.1 request (RFC 9112): the request line and the headers in use.
///
/// The library's own parser (lws 4.1) closes a connection with an invalid head without a response.
package struct RequestHead {
    package enum Header: String, CaseIterable {
        case host
        case upgrade
        case connection
        case authorization
        case accept
        case acceptEncoding = "accept-encoding"
        case ifNoneMatch = "if-none-match"
        case contentType = "content-type"
        case idempotencyKey = "idempotency-key"
        case contentLength = "content-length"
        case transferEncoding = "transfer-encoding"
        case expect
        case origin
        case requestedMethod = "access-control-request-method"
        case forwardedFor = "x-forwarded-for"
        case forwarded
        case via
        case webSocketKey = "sec-websocket-key"
        case webSocketVersion = "sec-websocket-version"
        case webSocketProtocol = "sec-websocket-protocol"

        /// Whether a repeated header makes the request ambiguous. Values of other repeated headers are joined with
        /// commas.
        fileprivate var isSingle: Bool {
            switch self {
            case .host, .contentLength, .idempotencyKey, .origin, .webSocketKey, .webSocketVersion: true
            case .upgrade, .connection, .authorization, .accept, .acceptEncoding, .ifNoneMatch, .contentType,
                .transferEncoding, .expect, .forwardedFor, .forwarded, .via, .requestedMethod, .webSocketProtocol:
                false
            }
        }
    }

    /// Whether the connection stays open after the response (RFC 9112, 9.3).
    enum Persistence {
        /// It stays open: the default of HTTP/1.1.
        case keep
        /// It stays open, and the response says so: an HTTP/1.0 client asked for it.
        case keepIfSaid
        case close
    }

    /// Why a head is invalid: the status and the body of the response.
    package struct Fault: Error, Equatable {
        package let status: Int
        package let words: String

        init(_ status: Int, _ words: String) {
            self.status = status
            self.words = words
        }
    }

    /// The longest head, in bytes: a token of 16 kB and a proxy's headers must fit.
    package static let longest = 32_768

    package private(set) var method = ""
    /// Path and query as they were sent.
    package private(set) var target = ""
    /// Percent-decoded.
    package private(set) var path = ""
    /// The text after `?`, percent-decoded.
    package private(set) var query = ""
    /// 0 or 1, of HTTP/1.
    private(set) var minorVersion = 1
    private var headers: [Header: String] = [:]

    package func value(of header: Header) -> String? { headers[header] }

    /// The elements of a header's list, in lower case.
    package func words(of header: Header) -> [String] {
        (headers[header] ?? "").lowercased().split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
    }

    var persistence: Persistence {
        let words = words(of: .connection)
        if words.contains("close") { return .close }
        if minorVersion == 1 { return .keep }
        return words.contains("keep-alive") ? .keepIfSaid : .close
    }

    /// - Parameter bytes: up to and including the empty line.
    package init(_ bytes: some Collection<UInt8>) throws(Fault) {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }[...]
        // RFC 9112, 2.2: empty lines before the request line are skipped.
        while lines.first?.isEmpty == true { lines = lines.dropFirst() }
        guard let first = lines.popFirst() else { throw Fault(400, "an empty request") }
        try readRequestLine(String(decoding: first, as: UTF8.self))
        for line in lines where !line.isEmpty { try readHeader(line) }
        guard headers[.host] != nil || minorVersion == 0 else { throw Fault(400, "Host is missing") }
    }

    private mutating func readRequestLine(_ line: String) throws(Fault) {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].utf8.allSatisfy(Self.isToken) else {
            throw Fault(400, "not an HTTP/1.1 request")
        }
        method = String(parts[0])
        switch parts[2] {
        case "HTTP/1.1": break
        case "HTTP/1.0": minorVersion = 0
        default:
            guard parts[2].hasPrefix("HTTP/") else { throw Fault(400, "not an HTTP/1.1 request") }
            throw Fault(505, "use HTTP/1.1")
        }
        try readTarget(String(parts[1]))
    }

    private mutating func readTarget(_ target: String) throws(Fault) {
        var target = target[...]
        // The absolute form, used with proxies (RFC 9112, 3.2.2).
        if let scheme = target.firstRange(of: "://"), !target.hasPrefix("/") {
            let rest = target[scheme.upperBound...]
            target = rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
        }
        guard target.hasPrefix("/") || target == "*" else { throw Fault(400, "the path must begin with /") }
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = Self.unescaped(parts[0]), let query = Self.unescaped(parts.count > 1 ? parts[1] : "") else {
            throw Fault(400, "invalid percent escape")
        }
        (self.target, self.path, self.query) = (String(target), path, query)
    }

    private mutating func readHeader(_ line: some Collection<UInt8>) throws(Fault) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon != line.startIndex,
            line[..<colon].allSatisfy(Self.isToken)
        else { throw Fault(400, "a header needs a name and a colon") }
        let bytes = line[line.index(after: colon)...]
        // RFC 9110, 5.5; other control characters are permitted.
        guard !bytes.contains(0x00), !bytes.contains(0x0D) else { throw Fault(400, "a line break in a header") }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        guard let header = Header(rawValue: name) else { return }
        let value = String(decoding: Self.trimmed(Array(bytes)), as: UTF8.self)
        guard let before = headers[header] else {
            headers[header] = value
            return
        }
        guard !header.isSingle else { throw Fault(400, "two headers \(name)") }
        headers[header] = "\(before), \(value)"
    }

    private static func trimmed(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }

    /// A token character (RFC 9110, 5.6.2).
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// nil for an invalid percent escape.
    package static func unescaped(_ text: Substring) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16),
                rest.first != UInt8(ascii: "+")
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Buffers a head until its empty line.
package struct RequestHeadBuffer {
    private var bytes: [UInt8] = []
    private var searched = 0

    package init() {}

    package enum Progress {
        case incomplete
        case tooLong
        /// The first byte cannot begin a request.
        case foreign
        /// The head, and the bytes after it.
        case whole(head: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)
    }

    package mutating func append(_ more: UnsafeRawBufferPointer) -> Progress {
        bytes.append(contentsOf: more)
        if let first = bytes.first, first < 0x20 && first != 0x0D && first != 0x0A || first >= 0x7F { return .foreign }
        while let newline = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            searched = newline + 1
            guard isEmptyLine(endingAt: newline) else { continue }
            guard searched <= RequestHead.longest else { return .tooLong }
            return .whole(head: bytes[..<searched], rest: bytes[searched...])
        }
        return bytes.count < RequestHead.longest ? .incomplete : .tooLong
    }

    /// Whether the line that `newline` ends is empty and follows a nonempty line.
    private func isEmptyLine(endingAt newline: Int) -> Bool {
        var end = newline
        if end > 0, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        guard end > 0, bytes[end - 1] == UInt8(ascii: "\n") else { return false }
        return bytes[..<end].contains { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    }
}
