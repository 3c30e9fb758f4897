import ByteMutation
import Determinism
import Testing

@testable import OutgoingHTTP

@Suite("A response of HTTP/1.1")
struct AnswerReaderTests {
    /// - Parameter step: how many bytes arrive at a time.
    private func read(_ text: String, step: Int = .max, longest: Int = 100) -> Result<WebAnswer, WebFailure> {
        Result { () throws(WebFailure) in
            var reader = AnswerReader(longestBody: longest)
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let part = rest.prefix(step)
                rest = rest.dropFirst(part.count)
                if let answer = try reader.receive(part) { return answer }
            }
            return try reader.end()
        }
    }

    @Test(
        "costs as much as it is long, however slowly it comes",
        arguments: [
            "HTTP/1.1 200 §\r\n\r\n", "HTTP/1.1 304 a\r\n§: a\r\n\r\n", "HTTP/1.1 200 a\r\nCache-Control: §\r\n\r\n",
            "HTTP/1.1 200 a\r\nConnection: §\r\n\r\n", "HTTP/1.1 200 a\r\nKeep-Alive: §\r\n\r\n",
            "HTTP/1.1 200 a\r\nTransfer-Encoding: §\r\n\r\n", "HTTP/1.1 200 a\r\nContent-Length: §\r\n\r\n",
            "HTTP/1.1 200 a\r\nContent-Encoding: §\r\n\r\n", "HTTP/1.1 200 a\r\nTransfer-Encoding: chunked\r\n\r\n§",
            "§",
        ])
    func cost(form: String) {
        for worst in WorstInput.allCases {
            let growth = WorstInput.growth(at: 3000) { count in
                let filling = String(decoding: worst.bytes(count), as: UTF8.self)
                return form.replacing("§", with: filling)
            } _: { text in
                guard case .success(let answer) = read(text, step: 8, longest: 10_000) else { return }
                _ = Set(answer.fields.map(\.value)).contains("a\u{315}\u{323}")
                _ = answer.tokens(of: "connection").contains("close")
            }
            #expect(growth <= WorstInput.mostGrowth, "\(worst)")
        }
    }

    @Test("is read with its body, in parts of any size", arguments: [1, 2, 7, Int.max])
    func good(step: Int) throws {
        for (text, body) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more", "hello"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""),
            ("HTTP/1.0 200 OK\r\n\r\nuntil the end", "until the end"),
            ("HTTP/1.1 200\nContent-Length: 2\n\nhi", "hi"),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nA: b\r\n\r\n",
                "hello world"
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 3\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "hi"),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\nhi", "hi"),
        ] {
            let answer = try read(text, step: step).get()
            #expect(answer.status == 200 && String(decoding: answer.body, as: UTF8.self) == body, "\(text)")
        }
        let fields = try read(
            "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=1 \r\nX:\r\ncache-control:\tpublic\r\n\r\n", step: step
        ).get()
        #expect(fields.status == 304 && fields.field("cache-control") == "max-age=1, public" && fields.field("x") == "")
    }

    @Test(
        "that is malformed, cut or too long is refused",
        arguments: [
            ("", "closed without a response"), ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "closed within"),
            ("HTTP/1.1 200 OK\r\n", "closed within"), ("HTTP/2 200 OK\r\n\r\n", "is not HTTP/1.1"),
            ("HTTP/1.1 20 OK\r\n\r\n", "is not HTTP/1.1"), ("SSH-2.0-OpenSSH\r\n\r\n", "is not HTTP/1.1"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", "longer than 100 bytes"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "no valid length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi", "no valid length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "no valid length"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "the transfer encoding gzip, chunked"),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", "is encoded (gzip)"),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: \u{1B}[2J\rok\r\n\r\n", "is encoded (\\u{1B}[2J\\u{D}ok)"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: \u{1B}c\r\n\r\n", "the transfer encoding \\u{1B}c"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "a chunk has no length"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "a chunk has no length"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n", "a chunk has no length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", "no valid length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\nhello", "no valid length"),
            ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "no valid length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1e400\r\n\r\n", "no valid length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -9223372036854775808\r\n\r\n", "no valid length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n", "no valid length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", "longer than 100 bytes"),
            ("HTTP/1.1 +20 OK\r\n\r\n", "is not HTTP/1.1"), ("HTTP/1.1 -20 OK\r\n\r\n", "is not HTTP/1.1"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 5\r\nhello\r\n", "a chunk has no length"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n", "a chunk has no length"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                "a chunk has no length"
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhiho\r\n", "a chunk is longer"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "closed within"),
            ("HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n", "no header field"),
            ("HTTP/1.1 200 OK\r\nnothing\r\n\r\n", "no header field"),
        ])
    func bad(text: String, words: String) {
        for step in [1, 3, Int.max] {
            guard case .failure(let failure) = read(text, step: step) else {
                Issue.record("\(text) is taken")
                continue
            }
            #expect(failure.description.contains(words), "\(failure)")
        }
    }

    @Test("comes in a bounded number of chunks, and costs little at the greatest length")
    func chunks() {
        func chunked(_ count: Int) -> String {
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: "1\r\nx\r\n", count: count)
                + "0\r\n\r\n"
        }
        guard case .success(let answer) = read(chunked(3000), longest: 65_536) else {
            Issue.record("3000 chunks are refused")
            return
        }
        #expect(answer.body.count == 3000)
        let most = chunked(65_536)
        guard case .failure(let failure) = read(most, longest: 65_536) else {
            Issue.record("65,536 chunks are taken")
            return
        }
        #expect(failure.description.contains("the lines of its chunks"))
        #expect(WorstInput.isQuick { _ = read(most, longest: 65_536) })
    }

    @Test("has a bounded head, and a bounded body however it is delimited")
    func bounds() {
        let ok = "HTTP/1.1 200 OK\r\n"
        for (text, words) in [
            (ok + "X: " + String(repeating: "x", count: 20_000), "the head of the response is longer"),
            (ok + String(repeating: "X: y\r\n", count: 4_000), "the head of the response is longer"),
            (ok + "\r\n" + String(repeating: "x", count: 101), "longer than 100 bytes"),
            (
                ok + "Transfer-Encoding: chunked\r\n\r\n"
                    + String(repeating: "32\r\n" + String(repeating: "x", count: 50) + "\r\n", count: 3),
                "longer than 100 bytes"
            ),
            (
                ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + String(repeating: "X: y\r\n", count: 4_000),
                "the head of the response is longer"
            ),
        ] {
            guard case .failure(let failure) = read(text, step: 1000) else {
                Issue.record("\(text.prefix(60)) is taken")
                continue
            }
            #expect(failure.description.contains(words), "\(failure)")
        }
    }

    @Test(
        "leaves a connection for the next request only if its end was marked and nothing follows",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", true),
            ("HTTP/1.1 204 No Content\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", true),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi!", false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: x, Close\r\n\r\nhi", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", false), ("HTTP/1.1 200 OK\r\n\r\nhi", false),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
                false
            ),
        ])
    func reuse(text: String, isReusable: Bool) throws {
        for step in [1, Int.max] {
            var reader = AnswerReader(longestBody: 100)
            var (rest, isComplete) = (Array(text.utf8)[...], false)
            while !rest.isEmpty {
                let part = rest.prefix(step)
                rest = rest.dropFirst(part.count)
                isComplete = try reader.receive(part) != nil
            }
            #expect(isComplete == !text.hasSuffix("OK\r\n\r\nhi") && reader.isReusable == isReusable, "\(text)")
        }
    }

    @Test(
        "keeps the connection as long as the peer announces, less a second, whatever number it writes",
        arguments: [
            (nil, 30), ("timeout=5", 4), ("timeout=5, max=100", 4), ("max=100, Timeout=20", 19), ("timeout=2", 1),
            ("timeout=31", 30), ("timeout=32", 30), ("timeout=3600", 30), ("timeout=9223372036854775807", 30),
            ("timeout=18446744073709551615", 30), ("timeout=99999999999999999999", 30), ("max=5", 30), ("", 30),
            ("timeout=1", nil), ("timeout=0", nil), ("timeout=-1", nil), ("timeout=-9223372036854775808", nil),
            ("timeout=+5", nil), ("timeout= 5", nil), ("timeout=5 5", nil), ("timeout=1e400", nil),
            ("timeout=", nil), ("timeout=x", nil),
        ] as [(String?, Int?)])
    func idleTime(announced: String?, seconds: Int?) throws {
        let field = announced.map { "Keep-Alive: \($0)\r\n" } ?? ""
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
        var reader = AnswerReader(longestBody: 100)
        let answer = try reader.receive("\(head)\(field)\r\nhi".utf8)
        #expect(answer?.status == 200)
        #expect(reader.idleTime == seconds.map { .seconds($0) })
        var closing = AnswerReader(longestBody: 100)
        _ = try closing.receive("\(head)Connection: close\r\n\(field)\r\nhi".utf8)
        #expect(closing.idleTime == nil)
    }

    @Test(
        "asks for a wait of whole seconds, at most a day",
        arguments: [
            ("7", 7), ("86400", 86_400), ("86401", 86_400), ("9223372036854775807", 86_400),
            ("99999999999999999999", 86_400), ("0", nil), ("-1", nil), ("-9223372036854775808", nil), ("+5", nil),
            ("5 5", nil), ("1e400", nil), ("", nil), ("Sun, 06 Nov 1994 08:49:37 GMT", nil),
        ] as [(String, Int?)])
    func retryAfter(text: String, seconds: Int?) throws {
        let answer = try read("HTTP/1.1 503 Busy\r\nRetry-After: \(text)\r\nContent-Length: 0\r\n\r\n").get()
        #expect(answer.retryAfter == seconds.map { .seconds($0) })
    }

    @Test("that is broken somewhere is read the same in one part as in many, and never beyond the limit")
    func broken() {
        let corpus = [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello", "HTTP/1.0 404 No\r\n\r\nuntil the end",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nA: b\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        ].map { Array($0.utf8) }
        var generator = SeededGenerator(seed: 7)
        var taken = 0
        for _ in 0..<20_000 {
            let text = String(decoding: Mutation.mutate(corpus, using: &generator), as: UTF8.self)
            let whole = read(text, longest: 12)
            #expect(whole == read(text, step: Int.random(in: 1...9, using: &generator), longest: 12), "\(text)")
            if case .success(let answer) = whole {
                taken += 1
                #expect(answer.body.count <= 12 && (100...599).contains(answer.status))
            }
        }
        #expect((2_000...18_000).contains(taken))
    }

    @Test(
        "is asked for at an https address, or at an http one of this machine",
        arguments: [
            ("https://id.example.com/jwks", "id.example.com 443 /jwks id.example.com"),
            ("https://id.example.com", "id.example.com 443 / id.example.com"),
            ("https://id.example.com:8443/a?b=c&d", "id.example.com 8443 /a?b=c&d id.example.com:8443"),
            ("https://[2001:db8::1]/a", "2001:db8::1 443 /a [2001:db8::1]"),
            ("http://127.0.0.1:9/a", "127.0.0.1 9 /a 127.0.0.1:9"), ("http://[::1]:9/a", "::1 9 /a [::1]:9"),
            ("HTTPS://id.example.com/a%20b", "id.example.com 443 /a%20b id.example.com"),
            ("http://id.example.com/jwks", nil), ("http://localhost:9/a", "localhost 9 /a localhost:9"),
            ("http://10.0.0.1/a", nil),
            ("http://127.0.0.1.example.com/", nil), ("https://user@id.example.com/", nil),
            ("https://user:x@id.example.com/", nil), ("https://id.example.com/#a", nil), ("ftp://id.example.com/", nil),
            ("file:///etc/passwd", nil), ("https://", nil), ("id.example.com", nil), ("", nil),
            ("https://id.example.com/a b", nil), ("https://id.example.com/\r\nX: y", nil),
            ("https://id.example.com:0/", nil), ("https://id.example.com:70000/", nil),
        ] as [(String, String?)])
    func addresses(text: String, parts: String?) {
        let address = WebAddress(text)
        #expect(address.map { "\($0.host) \($0.port) \($0.target) \($0.authority)" } == parts)
    }

    @Test(
        "a URL is shown without its path and query, which may have a secret",
        arguments: [
            ("https://hooks.example.com/services/T0/hush?key=hush", "https://hooks.example.com"),
            ("HTTPS://hooks.example.com:8443?hush", "https://hooks.example.com:8443"),
            ("http://[::1]:9/hush", "http://[::1]:9"), ("https://hooks.example.com", "https://hooks.example.com"),
        ])
    func shown(text: String, shown: String) throws {
        let address = try #require(WebAddress(text))
        #expect("\(address)" == shown && String(reflecting: address) == shown)
    }
}
