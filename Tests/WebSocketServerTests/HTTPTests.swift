import ChildProcess
import EventJournal
import EventLoop
import Foundation
import LibWebSockets
import TestCleanup
import Testing
import WebSocketServer

@Suite("Plain HTTP on the same port", .cleanup)
struct HTTPTests {
    private let server: TestServer

    init() async throws { server = try await TestServer.start() }

    private func curl(_ server: TestServer, _ path: String, _ arguments: [String] = []) async throws -> String {
        let url = "http://127.0.0.1:\(server.address.port)\(path)"
        let words = ["-s", "-S", "-m", "15", "-i"] + arguments + [url]
        return try await ChildProcess.run("/usr/bin/curl", words).output
    }

    @Test("curl gets a resource, and 404 for one that is not there")
    func get() async throws {
        let answer = try await curl(server, "/healthz")
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.contains("Content-Type: text/plain; charset=utf-8\r\n"))
        #expect(answer.hasSuffix("\r\n\r\nfine\n"))
        #expect(try await curl(server, "/nowhere").hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        let head = try await curl(server, "/healthz", ["-I"])
        #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(head.hasSuffix("\r\n\r\n"))
        await server.stop()
        #expect(server.server.statistics.shards[0].requests == 3)
        #expect(server.server.statistics.shards[0].opened == 0)
    }

    @Test("a POST brings its body, type, query and authorization; a header cannot smuggle in another")
    func post() async throws {
        let arguments = [
            "-H", "Content-Type: application/json", "-H", "Authorization: Bearer abc.def", "-d", "{\"a\":1}",
        ]
        let answer = try await curl(server, "/echo?limit=3&x=y", arguments)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.contains("Content-Type: application/json\r\n"))
        #expect(answer.contains("X-Target: /echo?limit=3&x=y\r\n"))
        #expect(answer.contains("X-Authorization: Bearer abc.def\r\n"))
        #expect(!answer.contains("X-Bad"))
        #expect(answer.hasSuffix("\r\n\r\n{\"a\":1}"))
        await server.stop()
        #expect(server.journal.entries.contains(.requested("POST /echo")))
    }

    @Test("a body of 64 KiB is taken, one byte more is answered with 413, a chunked one with 411, none is none")
    func bodySizes() async throws {
        let largest = try await curl(server, "/echo", ["-H", "Expect:", "-d", String(repeating: "b", count: 65536)])
        #expect(largest.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(largest.contains("Content-Length: 65536\r\n"))
        let larger = try await curl(server, "/echo", ["-H", "Expect:", "-d", String(repeating: "b", count: 65537)])
        #expect(larger.hasPrefix("HTTP/1.1 413 Content Too Large\r\n"))
        let chunked = try await curl(server, "/echo", ["-H", "Transfer-Encoding: chunked", "-d", "x"])
        #expect(chunked.hasPrefix("HTTP/1.1 411 Length Required\r\n"))
        for length in [["-H", "Content-Length: 0"], []] {
            #expect(try await curl(server, "/echo", ["-X", "POST"] + length).hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }

    @Test("an answer may come later, or be larger than the socket takes at once")
    func lateAndLarge() async throws {
        #expect(try await curl(server, "/late").hasSuffix("at last\n"))
        let large = try await curl(server, "/large")
        #expect(large.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(large.utf8.count { $0 == UInt8(ascii: "y") } >= 3_000_000)
    }

    @Test("a responder may outlive the WebSocket that its connection became")
    func keptResponder() async throws {
        // One shard: its handler keeps the responder.
        let server = try await TestServer.start { $0.shards = 1 }
        let client = try RawClient(port: server.address.port)
        try await client.write("GET /kept HTTP/1.1\r\nHost: localhost\r\n\r\n")
        var answer: [UInt8] = []
        while !answer.suffix(5).elementsEqual("kept\n".utf8) { answer += try await client.readMore() }
        #expect(try await client.handshake().hasPrefix("HTTP/1.1 101"))
        #expect(try await curl(server, "/kept/awaited").hasSuffix("\r\n\r\nfalse\n"))
        try await client.sendFrame(opcode: 8, [0x03, 0xE8])
        _ = try await client.readToEnd()
        _ = try await server.journal.first("its end") { if case .closed(let serial) = $0 { serial } else { nil } }
        #expect(try await curl(server, "/kept/awaited").hasSuffix("\r\n\r\nfalse\n"))
    }

    @Test("the path of WebSockets says so to plain HTTP, and HTTP/2 is not spoken")
    func upgradeRequired() async throws {
        #expect(try await curl(server, "/v1/signal").hasPrefix("HTTP/1.1 426 Upgrade Required\r\n"))
        #expect(try await curl(server, "/healthz", ["--http2"]).hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
    }

    @Test("requests of one connection are answered in order, however many come at once, until one ends it")
    func pipelined() async throws {
        let client = try RawClient(port: server.address.port)
        let late = "GET /late HTTP/1.1\r\nHost: x\r\n\r\n"
        let post = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
        let last = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        try await client.write(late + String(repeating: post, count: 300) + last + post)
        let answers = String(decoding: try await client.readToEnd(), as: UTF8.self).components(separatedBy: "HTTP/1.1 ")
        #expect(answers.count == 303)
        #expect(answers[1].hasSuffix("\r\n\r\nat last\n"))
        #expect(answers[2...301].allSatisfy { $0.hasPrefix("200 ") && $0.hasSuffix("\r\n\r\nhi") })
        #expect(answers[302].hasSuffix("\r\n\r\nfine\n") && answers[302].contains("Connection: close\r\n"))
        #expect(!answers[301].contains("Connection:"))
        await server.stop()
        #expect(server.server.statistics.shards[0].requests == 302)
    }

    @Test("a connection ends with its fourth refused request, so that a flood of them has to connect again")
    func refusedOften() async throws {
        let (served, refused) = ("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "GET /limited HTTP/1.1\r\nHost: x\r\n\r\n")
        let client = try RawClient(port: server.address.port)
        try await client.write(String(repeating: served + refused, count: 9))
        let text = String(decoding: try await client.readToEnd(), as: UTF8.self)
        let answers = text.components(separatedBy: "HTTP/1.1 ").dropFirst()
        #expect(answers.map { $0.prefix(3) } == ["200", "429", "200", "429", "200", "429", "200", "429"])
        #expect(answers.map { $0.contains("Connection: close\r\n") }.firstIndex(of: true) == 7)
    }

    @Test("a proxy's connection stays: its requests are those of many clients")
    func refusedOftenBehindProxy() async throws {
        let proxy = try #require(AddressRange("127.0.0.1"))
        let server = try await TestServer.start { $0.proxies = TrustedProxies(addresses: [proxy]) }
        let client = try RawClient(port: server.address.port)
        let refused = "GET /limited HTTP/1.1\r\nHost: x\r\n\r\n"
        let last = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        try await client.write(String(repeating: refused, count: 9) + last)
        let text = String(decoding: try await client.readToEnd(), as: UTF8.self)
        #expect(text.components(separatedBy: "HTTP/1.1 429").count == 10 && text.hasSuffix("fine\n"))
    }

    @Test("curl sends its requests on one connection; HTTP/1.0 has to ask for that")
    func kept() async throws {
        let url = "http://127.0.0.1:\(server.address.port)/healthz"
        for (words, connections) in [
            ([], "1 0 0"), (["-0"], "1 1 1"), (["-0", "-H", "Connection: keep-alive"], "1 0 0"),
        ] {
            let format = [
                "-s", "-m", "15", "-w", "%{num_connects} ", "-o", "/dev/null", "-o", "/dev/null", "-o", "/dev/null",
            ]
            let output = try await ChildProcess.run("/usr/bin/curl", format + words + [url, url, url]).output
            #expect(output == connections + " ", "\(words)")
        }
    }

    @Test("a client that sends more ahead than is kept gets the answer it waits for, and the end")
    func tooFarAhead() async throws {
        let client = try RawClient(port: server.address.port)
        // They arrive before the answer is made.
        try await client.write("GET /later HTTP/1.1\r\nHost: x\r\n\r\n" + String(repeating: "a", count: 200_000))
        let answer = String(decoding: try await client.readToEnd(), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.contains("Connection: close\r\n"))
        #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2)
    }

    @Test("a page of an allowed origin reads its answer, and may ask before it sends a token; another is refused")
    func origins() async throws {
        let server = try await TestServer.start { $0.origins = .only(["https://app.example.com"]) }
        let preflight = ["-X", "OPTIONS", "-H", "Access-Control-Request-Method: POST"]
        func from(_ origin: String) -> [String] { ["-H", "Origin: \(origin)"] }
        let allowed = try await curl(server, "/echo", from("https://App.example.com"))
        #expect(allowed.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(allowed.contains("\r\nAccess-Control-Allow-Origin: https://App.example.com\r\nVary: Origin\r\n"))
        let asked = try await curl(server, "/echo", from("https://app.example.com") + preflight)
        #expect(asked.hasPrefix("HTTP/1.1 204 No Content\r\n") && !asked.contains("Content-Length"))
        #expect(asked.contains("\r\nAccess-Control-Allow-Methods: GET, HEAD, POST\r\n"))
        #expect(asked.contains("\r\nAccess-Control-Allow-Headers: Authorization, Content-Type\r\n"))
        for arguments in [[], preflight] {
            let refused = try await curl(server, "/echo", from("https://evil.example.com") + arguments)
            #expect(refused.hasPrefix("HTTP/1.1 403 Forbidden\r\n") && !refused.contains("Access-Control"))
            #expect(
                refused.hasSuffix(
                    "pages of https://evil.example.com may not use this server: only its own pages, and those in listen.origins\n"
                ))
        }
        #expect(try await curl(server, "/healthz").hasPrefix("HTTP/1.1 200 "), "an app sends no origin")
        let page = try RawClient(port: server.address.port)
        #expect(try await page.handshake(more: "Origin: https://app.example.com\r\n").hasPrefix("HTTP/1.1 101 "))
        let own = try RawClient(port: server.address.port)
        // RawClient sends this Host.
        #expect(try await own.handshake(more: "Origin: http://LOCALHOST\r\n").hasPrefix("HTTP/1.1 101 "))
        let otherPort = try RawClient(port: server.address.port)
        #expect(try await otherPort.handshake(more: "Origin: http://localhost:81\r\n").hasPrefix("HTTP/1.1 403 "))
        let evil = try RawClient(port: server.address.port)
        #expect(try await evil.handshake(more: "Origin: null\r\n").hasPrefix("HTTP/1.1 403 "))
    }

    @Test("a listener that was told of no origins serves its own pages only")
    func noOrigins() async throws {
        let server = try await TestServer.start()
        for origin in ["https://evil.example", "null"] {
            let refused = try await curl(server, "/echo", ["-H", "Origin: \(origin)"])
            #expect(refused.hasPrefix("HTTP/1.1 403 Forbidden\r\n") && !refused.contains("Access-Control"))
        }
        let own = try await curl(server, "/echo", ["-H", "Origin: http://\(server.address)"])
        #expect(own.hasPrefix("HTTP/1.1 200 OK\r\n") && !own.contains("Access-Control"))
    }

    @Test("each refusal by the listener itself has the form that it was given, and a handler's has its own")
    func refusalForm() async throws {
        let server = try await TestServer.start {
            $0.origins = .only([])
            $0.refusalForm = { HTTPResponse(status: $0.status, contentType: "x/formed", headers: $0.headers) }
        }
        let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: reveille.v1\r\n"
        let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        let requests: [(String, Int)] = [
            ("hello\r\n\r\n", 400), ("\u{1}", 400), ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400), ("GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505),
            ("BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 405),
            ("GET / HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\n\r\n", 403),
            ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n", 413),
            ("GET / HTTP/1.1\r\nHost: x\r\nX-Long: \(String(repeating: "x", count: 40_000))\r\n\r\n", 431),
            ("GET /v1/signal HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 426),
            ("GET /v1/other HTTP/1.1\r\nHost: x\r\n\(upgrade)\(key)Sec-WebSocket-Version: 13\r\n\r\n", 404),
            ("POST /v1/signal HTTP/1.1\r\nHost: x\r\n\(upgrade)\(key)Sec-WebSocket-Version: 13\r\n\r\n", 405),
            ("GET /v1/signal HTTP/1.1\r\nHost: x\r\n\(upgrade)\(key)Sec-WebSocket-Version: 8\r\n\r\n", 426),
            ("GET /v1/signal HTTP/1.1\r\nHost: x\r\n\(upgrade)Sec-WebSocket-Version: 13\r\n\r\n", 400),
        ]
        for (request, status) in requests {
            let client = try RawClient(port: server.address.port)
            try await client.write(request)
            let answer = String(decoding: try await client.readToEnd(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(request.prefix(60)): \(answer)")
            #expect(answer.contains("\r\nContent-Type: x/formed\r\n"), "\(request.prefix(60))")
            if status == 405 { #expect(answer.contains("\r\nAllow: GET")) }
        }
        for path in ["/nowhere", "/refused"] {
            let answer = try await curl(server, path, ["-H", "Expect:", "-d", String(repeating: "b", count: 60_000)])
            #expect(answer.contains("Content-Type: text/plain; charset=utf-8\r\n"), "\(path)")
        }
    }

    @Test("a list of origins is read, or refused")
    func originList() {
        #expect(AllowedOrigins("any") == .any)
        #expect(
            AllowedOrigins("https://a.example, HTTP://localhost:8080")
                == .only(["https://a.example", "http://localhost:8080"]))
        for bad in ["", "a.example", "https://", "https://a.example/", "https://a.example/x", "any, https://a", "://a"]
        {
            #expect(AllowedOrigins(bad) == nil, "\(bad)")
        }
    }

    @Test("a connection between two requests does not delay the stop of the server")
    func keptAtStop() async throws {
        let client = try RawClient(port: server.address.port)
        try await client.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(String(decoding: try await client.readMore(), as: UTF8.self).hasSuffix("fine\n"))
        let began = ContinuousClock.now
        await server.server.stop(closeCode: 3000, reason: "", grace: .seconds(60))
        // A connection that is waited for takes the 60 s.
        #expect(ContinuousClock.now - began < .seconds(40))
        #expect(try await client.readToEnd().isEmpty)
        #expect(server.server.statistics.shards[0].unfinished == 0)
    }
}
