import ChildProcess
import EventJournal
import EventLoop
import Testing
import WebSocketServer

@Suite("Plain HTTP on the same port")
struct HTTPTests {
    private func curl(_ server: TestServer, _ path: String, _ arguments: [String] = []) async throws -> String {
        let url = "http://127.0.0.1:\(server.address.port)\(path)"
        let words = ["-s", "-S", "-m", "15", "-i"] + arguments + [url]
        return try await ChildProcess.run("/usr/bin/curl", words).output
    }

    @Test("curl gets a resource, and 404 for one that is not there")
    func get() async throws {
        let server = try await TestServer.start()
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
        let server = try await TestServer.start()
        let arguments = [
            "-H", "Content-Type: application/json", "-H", "Authorization: Bearer abc.def", "-d", "{\"a\":1}",
        ]
        let answer = try await curl(server, "/echo?limit=3&x=y", arguments)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.contains("Content-Type: application/json\r\n"))
        #expect(answer.contains("X-Query: limit=3&x=y\r\n"))
        #expect(answer.contains("X-Authorization: Bearer abc.def\r\n"))
        #expect(!answer.contains("X-Bad"))
        #expect(answer.hasSuffix("\r\n\r\n{\"a\":1}"))
        await server.stop()
        #expect(server.journal.entries.contains(.requested("POST /echo")))
    }

    @Test("a body of 64 KiB is taken, one byte more is answered with 413, none or a chunked one with 411")
    func bodySizes() async throws {
        let server = try await TestServer.start()
        let largest = try await curl(server, "/echo", ["-H", "Expect:", "-d", String(repeating: "b", count: 65536)])
        #expect(largest.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(largest.contains("Content-Length: 65536\r\n"))
        let larger = try await curl(server, "/echo", ["-H", "Expect:", "-d", String(repeating: "b", count: 65537)])
        #expect(larger.hasPrefix("HTTP/1.1 413 Content Too Large\r\n"))
        let chunked = try await curl(server, "/echo", ["-H", "Transfer-Encoding: chunked", "-d", "x"])
        #expect(chunked.hasPrefix("HTTP/1.1 411 Length Required\r\n"))
        let empty = try await curl(server, "/echo", ["-X", "POST", "-H", "Content-Length: 0"])
        #expect(empty.hasPrefix("HTTP/1.1 200 OK\r\n"))
        await server.stop()
    }

    @Test("an answer may come later, or be larger than the socket takes at once")
    func lateAndLarge() async throws {
        let server = try await TestServer.start()
        #expect(try await curl(server, "/late").hasSuffix("at last\n"))
        let large = try await curl(server, "/large")
        #expect(large.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(large.utf8.count { $0 == UInt8(ascii: "y") } >= 3_000_000)
        await server.stop()
    }

    @Test("the path of WebSockets says so to plain HTTP, and HTTP/2 is not spoken")
    func upgradeRequired() async throws {
        let server = try await TestServer.start()
        #expect(try await curl(server, "/v1/signal").hasPrefix("HTTP/1.1 426 Upgrade Required\r\n"))
        #expect(try await curl(server, "/healthz", ["--http2"]).hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        await server.stop()
    }

    @Test("two requests sent at once on one connection do no harm")
    func pipelined() async throws {
        let server = try await TestServer.start()
        let client = try RawClient(port: server.address.port)
        try await client.write("GET /late HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try await client.readToEnd()
        #expect(try await curl(server, "/healthz").hasSuffix("fine\n"))
        await server.stop()
    }
}
