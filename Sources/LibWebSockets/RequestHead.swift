import CallVocabulary

/// The head of an HTTP/1.1 request (RFC 9112): the request line and the headers in use.
///
/// All its texts are ASCII, or short: Swift compares others in quadratic time. The library's own parser (lws 4.1) closes a connection with an invalid head without a response.
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

        /// Whether the header has one exact value: repeated, or with bytes beyond ASCII, it makes the request
        /// ambiguous. Values of other repeated headers are joined with commas.
        fileprivate var isSingle: Bool {
            switch self {
            case .host, .contentLength, .idempotencyKey, .origin, .webSocketKey, .webSocketVersion: true
            case .upgrade, .connection, .authorization, .accept, .acceptEncoding, .ifNoneMatch, .contentType,
                .transferEncoding, .expect, .forwardedFor, .forwarded, .via, .requestedMethod, .webSocketProtocol:
                false
            }
        }

        /// - Parameter name: in lower case.
        fileprivate init?(_ name: [UInt8]) {
            let found = Self.allCases.first {
                let text = $0.rawValue.utf8
                return text.count == name.count && text.elementsEqual(name)
            }
            guard let found else { return nil }
            self = found
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
    /// The most bytes of a resolved path, or of a part of it, that is not all ASCII.
    private static let longestForeign = 256

    package private(set) var method = ""
    /// Path and query as they were sent.
    package private(set) var target = ""
    /// Percent-decoded, without the query.
    package private(set) var path = ""
    /// 0 or 1, of HTTP/1.
    private(set) var minorVersion = 1
    private var headers: [Header: String] = [:]

    /// With `?` for bytes beyond ASCII, which only lists and credentials may have here: they are compared with texts
    /// that have no `?`.
    package func value(of header: Header) -> String? { headers[header] }

    /// Whether a proxy has sent it, as far as it says so.
    var isForwarded: Bool { [Header.forwardedFor, .forwarded, .via].contains { headers[$0] != nil } }

    /// The elements of a header's list, without the blanks around them.
    package func elements(of header: Header) -> [ArraySlice<UInt8>] {
        Array((headers[header] ?? "").utf8).split(separator: UInt8(ascii: ",")).map(Self.trimmed)
    }

    /// Whether a header's list has this element, in any case.
    /// - Parameter word: in lower case.
    package func lists(_ word: StaticString, in header: Header) -> Bool {
        elements(of: header).contains { element in
            word.withUTF8Buffer { $0.count == element.count && $0.elementsEqual(element.lazy.map(Self.lowercased)) }
        }
    }

    var persistence: Persistence {
        if lists("close", in: .connection) { return .close }
        if minorVersion == 1 { return .keep }
        return lists("keep-alive", in: .connection) ? .keepIfSaid : .close
    }

    /// - Parameter bytes: up to and including the empty line.
    package init(_ bytes: some Collection<UInt8>) throws(Fault) {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }[...]
        // RFC 9112, 2.2: empty lines before the request line are skipped.
        while lines.first?.isEmpty == true { lines = lines.dropFirst() }
        guard let first = lines.popFirst() else { throw Fault(400, "an empty request") }
        try readRequestLine(Array(first))
        for line in lines where !line.isEmpty { try readHeader(line) }
        guard headers[.host] != nil || minorVersion == 0 else { throw Fault(400, "Host is missing") }
    }

    private mutating func readRequestLine(_ line: [UInt8]) throws(Fault) {
        guard line.allSatisfy({ $0 < 0x80 }) else {
            throw Fault(400, "a request line is ASCII; percent-encode other characters")
        }
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(Self.isToken),
            parts[2].starts(with: "HTTP/".utf8)
        else { throw Fault(400, "not an HTTP/1.1 request") }
        method = String(decoding: parts[0], as: UTF8.self)
        minorVersion = parts[2].elementsEqual("HTTP/1.0".utf8) ? 0 : 1
        guard minorVersion == 0 || parts[2].elementsEqual("HTTP/1.1".utf8) else { throw Fault(505, "use HTTP/1.1") }
        try readTarget(parts[1])
    }

    private mutating func readTarget(_ sent: ArraySlice<UInt8>) throws(Fault) {
        var target = sent
        // The absolute form, used with proxies (RFC 9112, 3.2.2).
        if target.first != UInt8(ascii: "/"), let scheme = target.firstRange(of: "://".utf8) {
            target = target[scheme.upperBound...].drop { $0 != UInt8(ascii: "/") }
            if target.isEmpty { target = [UInt8(ascii: "/")] }
        }
        guard target.first == UInt8(ascii: "/") || target.elementsEqual("*".utf8) else {
            throw Fault(400, "the path must begin with /")
        }
        guard let path = Self.unescaped(target.prefix { $0 != UInt8(ascii: "?") }) else {
            throw Fault(
                400, "the path has an invalid percent escape, is not UTF-8, or is too long for one that is not ASCII")
        }
        (self.target, self.path) = (String(decoding: target, as: UTF8.self), path)
    }

    private mutating func readHeader(_ line: some Collection<UInt8>) throws(Fault) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon != line.startIndex,
            line[..<colon].allSatisfy(Self.isToken)
        else { throw Fault(400, "a header needs a name and a colon") }
        let bytes = line[line.index(after: colon)...]
        // RFC 9110, 5.5; other control characters are permitted.
        guard !bytes.contains(0x00), !bytes.contains(0x0D) else { throw Fault(400, "a line break in a header") }
        guard let header = Header(line[..<colon].map(Self.lowercased)) else { return }
        // Two values must not become one.
        guard !header.isSingle || bytes.allSatisfy({ $0 < 0x80 }) else {
            throw Fault(400, "\(header.rawValue): expected ASCII characters only")
        }
        let ascii = bytes.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }
        let value = String(decoding: Self.trimmed(ascii[...]), as: UTF8.self)
        guard headers[header] != nil else {
            headers[header] = value
            return
        }
        guard !header.isSingle else { throw Fault(400, "two headers \(header.rawValue)") }
        // In place: a head may repeat a header some thousand times.
        headers[header]?.append(", ")
        headers[header]?.append(value)
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
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

    /// Resolves percent escapes.
    /// - Parameter text: ASCII.
    /// - Returns: nil for an invalid escape, and for a result that is not UTF-8, or neither ASCII nor short.
    package static func unescaped(_ text: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(digits: rest.prefix(2), radix: 16, in: 0...UInt8.max) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        guard bytes.count <= longestForeign || bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// Buffers a head until its empty line.
package struct RequestHeadBuffer {
    private var bytes: [UInt8] = []
    /// Where the present line begins.
    private var line = 0
    /// Up to where its end was searched for.
    private var searched = 0
    /// Whether a line that is not empty has ended.
    private var hasBegun = false

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
            let isEmpty = newline == line || newline == line + 1 && bytes[line] == UInt8(ascii: "\r")
            (line, searched) = (newline + 1, newline + 1)
            guard isEmpty, hasBegun else {
                if !isEmpty { hasBegun = true }
                continue
            }
            guard searched <= RequestHead.longest else { return .tooLong }
            return .whole(head: bytes[..<searched], rest: bytes[searched...])
        }
        searched = bytes.count
        return bytes.count < RequestHead.longest ? .incomplete : .tooLong
    }
}
