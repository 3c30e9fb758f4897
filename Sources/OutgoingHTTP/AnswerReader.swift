import CallVocabulary

/// Reads one HTTP/1.1 response to a GET or POST (RFC 9112) from bytes as they arrive. Bounded; no I/O.
package struct AnswerReader {
    private enum Phase {
        case head
        /// The bytes of the body that are due.
        case body(Int)
        /// The next line is the length of a chunk.
        case chunkLength
        /// The bytes of the chunk that are due.
        case chunk(Int)
        case chunkEnd
        case trailer
        /// The body ends with the connection.
        case untilClose
        case complete
    }

    /// The most bytes of a head, and of all lines around chunks and of trailers: each line costs more than its length.
    static let longestHead = 16 * 1024
    /// An idle connection is closed after this time, and a second before the time that the peer announced.
    package static let longestIdle = Duration.seconds(30)

    private let longestBody: Int
    private var phase = Phase.head
    /// What was received; the first `consumed` bytes are read.
    private var pending: [UInt8] = []
    private var consumed = 0
    /// Up to where the end of the next line was searched for.
    private var searched = 0
    /// Of the head, then of the lines around chunks and of the trailers.
    private var lineBytes = 0
    private var isPersistent = false
    private var answer = WebAnswer(status: 0, fields: [], body: [])

    package init(longestBody: Int) { self.longestBody = longestBody }

    /// Whether any byte has arrived.
    private(set) var hasBegun = false

    /// Whether the connection can carry another request: the response is complete, its end was marked, and the peer
    /// neither announced to close nor sent more.
    package var isReusable: Bool {
        guard case .complete = phase else { return false }
        return isPersistent && pending.isEmpty
    }

    /// How long the connection may wait for another request; nil if it cannot carry one.
    package var idleTime: Duration? {
        guard isReusable else { return nil }
        guard let announced = answer.keepAliveSeconds else { return Self.longestIdle }
        return announced > 1 ? min(.seconds(announced - 1), Self.longestIdle) : nil
    }

    /// - Returns: the response once it is complete; later bytes are ignored.
    package mutating func receive(_ bytes: some Sequence<UInt8>) throws(WebFailure) -> WebAnswer? {
        pending.append(contentsOf: bytes)
        if !pending.isEmpty { hasBegun = true }
        while try advance() {}
        if consumed > 0 { pending.removeFirst(consumed) }
        searched = max(0, searched - consumed)
        consumed = 0
        if case .complete = phase { return answer }
        return nil
    }

    /// The peer has closed the connection in an orderly way.
    package mutating func end() throws(WebFailure) -> WebAnswer {
        switch phase {
        case .complete, .untilClose: return answer
        case .head where !hasBegun:
            throw WebFailure(description: "the connection was closed without a response")
        case .head, .body, .chunkLength, .chunk, .chunkEnd, .trailer:
            throw WebFailure(description: "the connection was closed within the response")
        }
    }

    /// - Returns: whether it got on and there may be more to do.
    private mutating func advance() throws(WebFailure) -> Bool {
        switch phase {
        case .head:
            guard let line = try line() else { return false }
            // With `?` for bytes beyond ASCII.
            try head(String(decoding: line.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }, as: UTF8.self))
            return true
        case .body(let due):
            phase = try take(due).map { .body($0) } ?? .complete
        case .chunkLength:
            guard let line = try line() else { return false }
            let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            var digits = line.prefix { $0 != UInt8(ascii: ";") }.drop(while: isBlank)
            while let last = digits.last, isBlank(last) { digits.removeLast() }
            guard let length = Int(digits: digits, radix: 16, in: 0...0xFFFF_FFFF) else {
                throw WebFailure(description: "a chunk has no length")
            }
            phase = length == 0 ? .trailer : .chunk(length)
            return true
        case .chunk(let due):
            guard let rest = try take(due) else {
                phase = .chunkEnd
                return true
            }
            phase = .chunk(rest)
        case .chunkEnd:
            guard let line = try line() else { return false }
            guard line.isEmpty else { throw WebFailure(description: "a chunk is longer than it says") }
            phase = .chunkLength
            return true
        case .trailer:
            guard let line = try line() else { return false }
            if line.isEmpty { phase = .complete }
            return true
        case .untilClose: _ = try take(.max)
        case .complete: break
        }
        return false
    }

    /// Moves up to `due` bytes to the body.
    /// - Returns: how many are still due; nil for none.
    private mutating func take(_ due: Int) throws(WebFailure) -> Int? {
        let count = min(due, pending.count - consumed)
        guard answer.body.count + count <= longestBody else {
            throw WebFailure(description: "the response is longer than \(longestBody) bytes")
        }
        answer.body.append(contentsOf: pending[consumed..<consumed + count])
        consumed += count
        return count == due ? nil : due - count
    }

    /// The next line, without its end; nil when it has not arrived.
    private mutating func line() throws(WebFailure) -> ArraySlice<UInt8>? {
        let end = pending[max(consumed, searched)...].firstIndex(of: UInt8(ascii: "\n"))
        searched = end.map { $0 + 1 } ?? pending.count
        guard lineBytes + (end ?? pending.count) - consumed <= Self.longestHead else {
            let limit = "\(Self.longestHead) bytes"
            throw WebFailure(
                description: "the head of the response is longer than \(limit), or the lines of its chunks are")
        }
        guard let end else { return nil }
        var line = pending[consumed..<end]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        lineBytes += end + 1 - consumed
        consumed = end + 1
        return line
    }

    private mutating func head(_ line: String) throws(WebFailure) {
        guard answer.status != 0 else {
            let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count >= 2, parts[0] == "HTTP/1.1" || parts[0] == "HTTP/1.0", parts[1].utf8.count == 3,
                let status = Int(digits: parts[1], in: 100...599)
            else { throw WebFailure(description: "the response is not HTTP/1.1") }
            answer.status = status
            isPersistent = parts[0] == "HTTP/1.1"
            return
        }
        guard line.isEmpty else {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !parts[0].contains(where: { $0 == " " || $0 == "\t" }) else {
                throw WebFailure(description: "the response has a line that is no header field")
            }
            answer.fields.append((parts[0].lowercased(), Self.trimmed(parts[1])))
            return
        }
        if answer.tokens(of: "connection").contains("close") { isPersistent = false }
        phase = try body()
        // RFC 9110, section 15.2: a 1xx response precedes the final one.
        if answer.status < 200 {
            answer = WebAnswer(status: 0, fields: [], body: [])
            phase = .head
        }
    }

    /// How the body is delimited (RFC 9112, section 6.3).
    private mutating func body() throws(WebFailure) -> Phase {
        if answer.status == 204 || answer.status == 304 { return .complete }
        if let coding = answer.field("content-encoding"), coding.lowercased() != "identity" {
            throw WebFailure(
                description: "the response is encoded (\(coding.printable(upTo: 100))), which was not asked for")
        }
        if let coding = answer.field("transfer-encoding") {
            guard coding.lowercased() == "chunked" else {
                throw WebFailure(description: "the response has the transfer encoding \(coding.printable(upTo: 100))")
            }
            // RFC 9112, section 6.3: a response with both may be an attempt at smuggling.
            if answer.field("content-length") != nil { isPersistent = false }
            lineBytes = 0
            return .chunkLength
        }
        guard let text = answer.field("content-length") else { return .untilClose }
        guard let length = Int(digits: text, in: 0...Int.max) else {
            throw WebFailure(description: "the response has no valid length")
        }
        guard length <= longestBody else {
            throw WebFailure(description: "the response is longer than \(longestBody) bytes")
        }
        return length == 0 ? .complete : .body(length)
    }

    /// The text without the blanks around it.
    static func trimmed(_ text: Substring) -> String {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        return String(String(text.drop(while: isSpace).reversed()).drop(while: isSpace).reversed())
    }
}
