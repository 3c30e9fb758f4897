import ByteMutation
import Testing

@testable import LibWebSockets

@Suite("The head of a request")
struct RequestHeadTests {
    private func head(_ text: String) throws(RequestHead.Fault) -> RequestHead { try RequestHead(Array(text.utf8)) }

    private func status(_ text: String) -> Int? {
        do throws(RequestHead.Fault) {
            _ = try head(text)
            return nil
        } catch {
            return error.status
        }
    }

    @Test("gives method, path, query and headers, whatever their case, blanks and line ends")
    func parts() throws {
        let head = try head(
            "\r\nPOST /v1/a%20b?x=1&y=%41 HTTP/1.1\r\nhOST: h\r\nAuthorization:\tBearer x \r\nConnection: a\r\n"
                + "Connection: Upgrade\nX-Other: 1\r\n\r\n")
        #expect(head.method == "POST")
        #expect(head.path == "/v1/a b")
        #expect(head.target == "/v1/a%20b?x=1&y=%41")
        #expect(head.value(of: .authorization) == "Bearer x")
        #expect(head.value(of: .contentLength) == nil)
        #expect(head.lists("a", in: .connection) && head.lists("upgrade", in: .connection))
        #expect(!head.lists("b", in: .connection) && !head.lists("a", in: .upgrade))
        #expect(try self.head("GET / HTTP/1.1\r\nHost: h\r\nVia: é\r\n\r\n").value(of: .via) == "??")
        #expect(try self.head("GET /%C3%A9 HTTP/1.1\r\nHost: h\r\n\r\n").path == "/é")
    }

    @Test("may name the whole address, or be of HTTP/1.0 without a host")
    func forms() throws {
        #expect(try head("GET http://h:1/a?b HTTP/1.1\r\nHost: h\r\n\r\n").path == "/a")
        #expect(try head("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n").path == "/")
        #expect(try head("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").path == "*")
        #expect(try head("GET /a HTTP/1.0\r\n\r\n").path == "/a")
        #expect(try head("GET /a?u=http://x HTTP/1.1\r\nHost: h\r\n\r\n").target == "/a?u=http://x")
    }

    @Test(
        "that is none, or could be understood in two ways, is refused",
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", 400), ("GET\r\n\r\n", 400), ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505), ("GET / HTTP/1.1 x\r\nHost: h\r\n\r\n", 400),
            ("GET / SIP/2.0\r\nHost: h\r\n\r\n", 400), ("G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("GET /%4 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("GET /%+5 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET /%-5 HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("GET /?a=% 5 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET /%0x HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: h\r\nX: a\u{0}b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", 400),
            ("GET /é HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET /\(String(repeating: "%C3%A9", count: 129)) HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ])
    func refused(_ text: String, _ status: Int) {
        #expect(self.status(text) == status)
    }

    @Test("two that differ are never read as one: a value or an escape that cannot be kept is refused")
    func unambiguous() throws {
        let single = [
            "Host", "Content-Length", "Idempotency-Key", "Origin", "Sec-WebSocket-Key", "Sec-WebSocket-Version",
        ]
        for header in single {
            for value in ["best-ä", "best-ö", "é", "a b\u{301}"] {
                let host = header == "Host" ? "" : "Host: h\r\n"
                #expect(status("GET / HTTP/1.1\r\n\(host)\(header): \(value)\r\n\r\n") == 400, "\(header): \(value)")
            }
        }
        #expect(
            try head("GET / HTTP/1.1\r\nHost: h\r\nIdempotency-Key: best-??\r\n\r\n").value(of: .idempotencyKey)
                == "best-??")
        for escapes in ["%FF", "%C3", "%C3/%A9", "%ED%A0%80", "%C0%AF", "a%80b"] {
            #expect(status("GET /\(escapes) HTTP/1.1\r\nHost: h\r\n\r\n") == 400, "\(escapes)")
            #expect(RequestHead.unescaped(Array(escapes.utf8)[...]) == nil, "\(escapes)")
        }
        #expect(try head("GET /%EF%BF%BD HTTP/1.1\r\nHost: h\r\n\r\n").path == "/\u{FFFD}")
    }

    @Test("is gathered to its empty line however it is cut; what follows is kept apart", arguments: [1, 2, 5, 1000])
    func gathered(_ piece: Int) {
        let text = Array("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\nrest".utf8)
        var buffer = RequestHeadBuffer()
        for start in stride(from: 0, to: text.count, by: piece) {
            let progress = Array(text[start..<min(text.count, start + piece)]).withUnsafeBytes { buffer.append($0) }
            guard case .whole(let head, let rest) = progress else { continue }
            #expect(head.elementsEqual("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
            #expect("rest".utf8.starts(with: rest))
            return
        }
        Issue.record("the head was not found")
    }

    @Test(
        "costs as much as it is long, whatever is in it",
        arguments: [
            "§GET / HTTP/1.1\r\nHost: h\r\n\r\n", "§ / HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /§ HTTP/1.1\r\nHost: h\r\n\r\n", "GET §://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /?§ HTTP/1.1\r\nHost: h\r\n\r\n", "GET / §\r\nHost: h\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\n§: a\r\n\r\n",
        ]
            + RequestHead.Header.allCases.map {
                "GET / HTTP/1.1\r\n\($0 == .host ? "" : "Host: h\r\n")\($0.rawValue): §\r\n\r\n"
            })
    func cost(_ form: String) {
        for worst in WorstInput.allCases {
            func text(_ count: Int) -> [UInt8] {
                let parts = form.split(separator: "§", omittingEmptySubsequences: false).map { Array($0.utf8) }
                return parts[0] + worst.bytes(count) + parts[1]
            }
            let growth = WorstInput.growth(at: 7000, of: text) { read($0) { use($0) } }
            #expect(growth <= WorstInput.mostGrowth, "\(worst)")
            let longest = text(RequestHead.longest - form.utf8.count)
            #expect(WorstInput.isQuick { read(longest) { _ = $0.persistence } }, "\(worst), of the greatest length")
        }
    }

    /// Reads a head as of a client that sends slowly: in small pieces.
    private func read(_ text: [UInt8], _ use: (RequestHead) -> Void) {
        var buffer = RequestHeadBuffer()
        for start in stride(from: 0, to: text.count, by: 16) {
            let progress = text[start..<min(text.count, start + 16)].withUnsafeBytes { buffer.append($0) }
            guard case .whole(let whole, _) = progress else { continue }
            if let head = try? RequestHead(whole) { use(head) }
            return
        }
    }

    /// Compares and hashes all that a request has.
    private func use(_ head: RequestHead) {
        let texts =
            [head.method, head.target, head.path] + RequestHead.Header.allCases.compactMap { head.value(of: $0) }
        _ = Set(texts).contains("a\u{315}\u{323}")
        for header in RequestHead.Header.allCases { _ = head.lists("close", in: header) }
        _ = head.persistence
    }

    @Test("may repeat a header some thousand times")
    func repeated() {
        let growth = WorstInput.growth(at: 1000) { count in
            Array(("GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "Via: a\r\n", count: count) + "\r\n").utf8)
        } _: { text in
            _ = try? RequestHead(text)
        }
        #expect(growth <= WorstInput.mostGrowth)
    }

    @Test("is too long by one byte, with and without an end")
    func bounds() {
        func progress(_ count: Int, ended: Bool) -> RequestHeadBuffer.Progress {
            let end = Array("\r\n\r\n".utf8)
            let text = [UInt8](repeating: 0x61, count: count - (ended ? end.count : 0)) + (ended ? end : [])
            var buffer = RequestHeadBuffer()
            return text.withUnsafeBytes { buffer.append($0) }
        }
        if case .whole = progress(RequestHead.longest, ended: true) {} else { Issue.record("the longest is refused") }
        if case .tooLong = progress(RequestHead.longest + 1, ended: true) {} else { Issue.record("taken") }
        if case .incomplete = progress(RequestHead.longest - 1, ended: false) {} else { Issue.record("not waited for") }
        if case .tooLong = progress(RequestHead.longest, ended: false) {} else { Issue.record("waited for") }
    }

    @Test("begins with a letter; a handshake of TLS and other bytes are told at once")
    func foreign() {
        for first: UInt8 in [0x16, 0x00, 0x80, 0xFF] {
            var buffer = RequestHeadBuffer()
            let progress = [first].withUnsafeBytes { buffer.append($0) }
            if case .foreign = progress {} else { Issue.record("\(first) is taken") }
        }
    }

    @Test("the accept value of RFC 6455's example")
    func acceptance() {
        #expect(Upgrade.acceptance(of: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test("addresses are shared out by IPv4 address and IPv6 /64; ranges hold what begins like them")
    func ranges() {
        #expect(AddressRange("10.1.0.0/16") == AddressRange("10.1.2.3/16"))
        #expect(AddressRange("10.0.0.5") == AddressRange("::ffff:10.0.0.5"))
        for text in [
            "", "10.0.0", "10.0.0.0/33", "fd00::/129", "fd00::/-1", "10.0.0.0/8/8", "host", "10.0.0.0/", "10.0.0.0/+8",
            "10.0.0.0/ 8", "10.0.0.0/8 ", "10.0.0.0/1e1", "10.0.0.0/9223372036854775807", "fd00::/99999999999999999999",
        ] {
            #expect(AddressRange(text) == nil, "\(text)")
        }
    }

    @Test("pipelined ones are found one after the other, and cost as much as they are long")
    func pipelined() {
        func heads(_ bytes: [UInt8]) -> Int {
            var unread = UnreadBytes()
            bytes.withUnsafeBytes { unread.append($0) }
            var buffer = RequestHeadBuffer()
            var found = 0
            while unread.count > 0 {
                let piece = unread.take(upTo: HTTPExchange.piece)
                guard case .whole(_, let rest) = piece.withUnsafeBytes({ buffer.append($0) }) else { continue }
                unread.giveBack(rest.count)
                buffer = RequestHeadBuffer()
                found += 1
            }
            return found
        }
        let request = Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
        func requests(_ count: Int) -> [UInt8] { Array(repeatElement(request, count: count / request.count).joined()) }
        #expect(heads(requests(2000 * request.count)) == 2000)
        let growth = WorstInput.growth(at: RequestHead.longest) { count in
            requests(count)
        } _: { bytes in
            _ = heads(bytes)
        }
        #expect(growth <= WorstInput.mostGrowth)
        let longest = requests(2 * RequestHead.longest)
        #expect(WorstInput.isQuick { _ = heads(longest) })
    }

    @Test("bytes that no request has taken keep their order")
    func unreadBytes() {
        var unread = UnreadBytes()
        var (next, expected) = (UInt8(0), UInt8(0))
        for round in 1...200 {
            let more = (0..<round % 7).map { UInt8(truncatingIfNeeded: Int(next) + $0) }
            next &+= UInt8(more.count)
            more.withUnsafeBytes { unread.append($0) }
            let taken = unread.take(upTo: round % 5)
            let kept = taken.prefix(taken.count / 2 + 1)
            unread.giveBack(taken.count - kept.count)
            for byte in kept {
                #expect(byte == expected)
                expected &+= 1
            }
        }
        for byte in unread.take(upTo: unread.count) {
            #expect(byte == expected)
            expected &+= 1
        }
        #expect(expected == next && unread.count == 0)
    }

    @Test("bytes that arrive behind dropped ones are dropped too: no request has a gap")
    func gap() {
        var unread = UnreadBytes()
        for (bytes, hasGap) in [([1, 2], false), ([3, 4, 5], false), ([6], true)] as [([UInt8], Bool)] {
            bytes.withUnsafeBytes { unread.append($0, whileAtMost: 3) }
            #expect(unread.hasGap == hasGap)
        }
        #expect(Array(unread.take(upTo: 9)) == [1, 2, 3, 4, 5])
        unread.free()
        let late: [UInt8] = [7]
        late.withUnsafeBytes { unread.append($0) }
        #expect(unread.count == 0 && unread.hasGap)
    }
}
