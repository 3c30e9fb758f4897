import EventJournal
import EventLoop
import HTTP2
import Testing

@Suite("Requests and responses")
struct RequestTests {
    @Test("a request and its response cross TLS unchanged", arguments: [0, 1, 300, 16_384, 200_000])
    func echo(bodySize: Int) async throws {
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let settings = HTTP2ServerSettings(maxBody: 1_000_000)
            let server = try await TestServer(on: loop, tls: certificates.serverContext(), settings: settings)
            let client = try await TestClient(on: loop, to: server.address, tls: certificates.clientContext())
            try await client.waitUntilReady()
            let body = (0..<bodySize).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let request = HTTP2Request(
                method: "POST", authority: "localhost:443", path: "/3/device/abc", isPathSensitive: true,
                fields: [
                    HTTPField("apns-topic", "example.app.voip"), HTTPField("apns-id", "1", isSensitive: true),
                    HTTPField("twice", "a"), HTTPField("twice", "b"),
                ], body: body)
            let stream = try #require(try await client.submit(request))

            let (_, seen) = try await server.nextRequest()
            #expect(seen.method == "POST" && seen.scheme == "https")
            #expect(seen.authority == "localhost:443" && seen.path == "/3/device/abc")
            #expect(seen.fields == request.fields)
            #expect(seen.body == body && !seen.isBodyTruncated)

            let response = try await client.response(on: stream)
            #expect(response.status == 200 && response.code == .noError)
            #expect(response.body == body)
            #expect(response.fields == [HTTPField("x-method", "POST"), HTTPField("x-path", "/3/device/abc")])
            #expect(try await client.perform { $0.openStreams } == 0)
        }
    }

    @Test("a prepared request arrives as its parts say, each time, its own fields before those it shares")
    func preparedFields() async throws {
        try await withLoop { loop in
            let server = try await TestServer(on: loop)
            let client = try await TestClient(on: loop, to: server.address)
            try await client.waitUntilReady()
            let common = [HTTPField("apns-topic", "example.app.voip"), HTTPField("secret", "s", isSensitive: true)]
            let origin = PreparedFields(method: "POST", authority: "localhost")
            let shared = PreparedFields(common)
            for count in 0..<2 {
                let fields = [HTTPField("apns-id", "\(count)", isSensitive: true)]
                let own = PreparedFields(path: "/\(count)", isPathSensitive: true, fields: fields)
                let request = PreparedRequest(
                    origin: origin, own: own, shared: shared, body: [UInt8("\(count)".utf8.first!)])
                _ = try #require(try await client.perform { $0.submit(request) })
                let (_, seen) = try await server.nextRequest(after: count)
                #expect(seen.method == "POST" && seen.authority == "localhost")
                #expect(seen.path == "/\(count)")
                #expect(seen.fields == fields + common)
            }
        }
    }

    @Test("of a response's fields only those that are wanted are told, and its status in any case")
    func wantedFields() async throws {
        try await withLoop { loop in
            let server = try await TestServer(on: loop) {
                { connection, event in
                    guard case .request(let stream, let request) = event else { return }
                    let fields = ["retry-after", "retry", "retry-after-all"].map { HTTPField($0, request.path) }
                    connection.respond(stream, status: request.path == "/1" ? 503 : 200, fields: fields)
                }
            }
            for (wanted, names) in [([], []), (["retry-after", "date"], ["retry-after"])] as [([String], [String])] {
                let client = try await TestClient(on: loop, to: server.address, wantedFields: wanted)
                try await client.waitUntilReady()
                for (path, status) in [("/0", 200), ("/1", 503)] {
                    let stream = try #require(try await client.submit(.post(path, "")))
                    let response = try await client.response(on: stream)
                    #expect(response.status == status && response.code == .noError)
                    #expect(response.fields == names.map { HTTPField($0, path) })
                }
            }
        }
    }

    @Test("2,000 requests on one connection never exceed the peer's limit of 100")
    func manyRequests() async throws {
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let peak = Journal<Int>()
            let server = try await TestServer(on: loop, tls: certificates.serverContext()) {
                { connection, event in
                    if case .request = event { peak.append(connection.openStreams) }
                    TestServer.echo(connection, event)
                }
            }
            let done = Journal<Int>()
            let client = try await TestClient(on: loop, to: server.address, tls: certificates.clientContext()) {
                var submitted = 0
                var completed = 0
                return { connection, event in
                    if case .streamClosed(_, .noError) = event { completed += 1 }
                    guard connection.maxConcurrentStreams == 100 else { return }
                    while submitted < 2_000, connection.submit(.post("/\(submitted)", "body \(submitted)")) != nil {
                        submitted += 1
                    }
                    if completed == 2_000 { done.append(completed) }
                }
            }
            try await done.wait(for: "2,000 responses") { !$0.isEmpty }
            #expect(server.journal.entries.requests.count == 2_000)
            #expect(peak.entries.max() == 100)
            #expect(Set(server.journal.entries.requests.map(\.1.path)).count == 2_000)
            let refused = client.journal.entries.filter {
                if case .streamClosed(_, let code) = $0 { code != .noError } else { false }
            }
            #expect(refused.isEmpty)
            #expect(try await client.perform { $0.openStreams } == 0)
        }
    }

    @Test("a response is streamed piece by piece, and ends when it is finished")
    func streaming() async throws {
        try await withLoop { loop in
            let server = try await TestServer(on: loop) { { _, _ in } }
            let client = try await TestClient(on: loop, to: server.address)
            try await client.waitUntilReady()
            let stream = try #require(try await client.submit(.post("/attach", "")))
            _ = try await server.nextRequest()
            let fields = [HTTPField("kind", "stream")]
            await server.perform { #expect($0.startResponse(stream, status: 200, fields: fields)) }
            try await client.journal.wait(for: "headers") { $0.contains(.headers(stream, 200, fields)) }
            for piece in ["first", "second", "third"] {
                await server.perform { #expect($0.send(stream, Array(piece.utf8))) }
                try await client.journal.wait(for: piece) { $0.contains(.data(stream, Array(piece.utf8))) }
            }
            #expect(try await client.perform { $0.openStreams } == 1)
            await server.perform { $0.finish(stream) }
            #expect(try await client.code(of: stream) == .noError)
            await server.perform { #expect(!$0.send(stream, [1])) }
        }
    }

    @Test("a streamed response larger than all windows arrives complete, and its buffer is bounded")
    func streamingBeyondWindows() async throws {
        try await withLoop { loop in
            let settings = HTTP2ServerSettings(maxBufferedResponse: 3_000_000)
            let server = try await TestServer(on: loop, settings: settings) {
                { connection, event in
                    guard case .request(let stream, _) = event else { return }
                    connection.startResponse(stream, status: 200)
                    #expect(connection.send(stream, [UInt8](repeating: 7, count: 3_000_000)))
                    #expect(!connection.send(stream, [8]), "nothing more fits")
                    connection.finish(stream)
                }
            }
            let client = try await TestClient(on: loop, to: server.address)
            try await client.waitUntilReady()
            let stream = try #require(try await client.submit(.post("/", "")))
            let response = try await client.response(on: stream)
            #expect(response.body.count == 3_000_000 && response.body.allSatisfy { $0 == 7 })
            #expect(response.code == .noError)
        }
    }

    @Test("of a body above the server's limit the beginning is kept and the request still comes")
    func bodyLimit() async throws {
        try await withLoop { loop in
            let server = try await TestServer(on: loop, settings: HTTP2ServerSettings(maxBody: 10)) {
                { connection, event in
                    guard case .request(let stream, let request) = event else { return }
                    connection.respond(stream, status: request.isBodyTruncated ? 413 : 200)
                }
            }
            let client = try await TestClient(on: loop, to: server.address)
            try await client.waitUntilReady()
            let fitting = try #require(try await client.submit(.post("/", "0123456789")))
            #expect(try await client.response(on: fitting).status == 200)
            let longer = try #require(
                try await client.submit(.post("/", "0123456789" + String(repeating: "x", count: 100_000))))
            #expect(try await client.response(on: longer).status == 413)
            #expect(server.journal.entries.requests.last?.1.body == Array("0123456789".utf8))
        }
    }

    @Test("a header above 64 KiB costs its stream and not the connection")
    func headerLimit() async throws {
        try await withLoop { loop in
            let server = try await TestServer(on: loop)
            let client = try await TestClient(on: loop, to: server.address)
            try await client.waitUntilReady()
            let long = String(repeating: "v", count: 30_000)
            let fields = (0..<3).map { HTTPField("x-\($0)", long) }
            let refused = try #require(try await client.submit(.post("/long", "", fields: fields)))
            #expect(try await client.code(of: refused) != .noError)
            let next = try #require(try await client.submit(.post("/short", "")))
            #expect(try await client.response(on: next).status == 200)
            #expect(server.journal.entries.requests.map(\.1.path) == ["/short"])
        }
    }

    @Test("submit, reset and close may be called from within events")
    func reentrancy() async throws {
        try await withLoop { loop in
            let server = try await TestServer(on: loop)
            let client = try await TestClient(on: loop, to: server.address) {
                var rounds = 0
                return { connection, event in
                    switch event {
                    case .headers(let stream, _, _):
                        rounds += 1
                        if rounds == 5 { return connection.close() }
                        connection.reset(stream, .cancel)
                        _ = connection.submit(.post("/again", "body"))
                    case .settings: _ = connection.submit(.post("/", "body"))
                    case .opened, .data, .streamClosed, .goAway, .pingAnswered, .closed: break
                    }
                }
            }
            #expect(try await client.closed() == nil)
            let entries = client.journal.entries
            let headers = entries.filter { if case .headers = $0 { true } else { false } }
            #expect(headers.count == 5)
            #expect(entries.last == .closed(nil))
            #expect(try await client.submit(.post("/", "")) == nil, "a closed connection takes nothing")
        }
    }

    @Test("after close nothing comes but the end, though more had arrived already")
    func silentAfterClose() async throws {
        try await withLoop { loop in
            let server = try await TestServer(on: loop) { { _, _ in } }
            let client = try await TestClient(on: loop, to: server.address) {
                { connection, event in if case .headers = event { connection.close() } }
            }
            try await client.waitUntilReady()
            let streams = try await client.perform { connection in
                (0..<3).compactMap { connection.submit(.post("/\($0)", "")) }
            }
            try await server.journal.wait(for: "the requests") { $0.requests.count == 3 }
            // One flight: the client reads all three answers at once.
            await server.perform { connection in for stream in streams { connection.respond(stream, status: 200) } }
            #expect(try await client.closed() == nil)
            #expect(client.journal.entries.suffix(2) == [.headers(streams[0], 200, []), .closed(nil)])
        }
    }

    @Test("a ping is answered")
    func ping() async throws {
        try await withLoop { loop in
            let server = try await TestServer(on: loop)
            let client = try await TestClient(on: loop, to: server.address)
            try await client.waitUntilReady()
            try await client.perform { $0.ping() }
            try await client.journal.wait(for: "the ping's answer") { $0.contains(.pingAnswered) }
        }
    }
}
