import EventJournal
import EventLoop
import HTTP2
import Testing

@Suite("How streams and connections end")
struct EndTests {
    /// A server that answers nothing by itself, and a client ready for requests.
    private func pair(on loop: EventLoop) async throws -> (server: TestServer, client: TestClient) {
        let certificates = try await TestCertificates.shared.value
        let server = try await TestServer(on: loop, tls: certificates.serverContext()) { { _, _ in } }
        return (server, try await client(on: loop, of: server))
    }

    private func client(on loop: EventLoop, of server: TestServer) async throws -> TestClient {
        let tls = try await TestCertificates.shared.value.clientContext()
        let client = try await TestClient(on: loop, to: server.address, tls: tls)
        try await client.waitUntilReady()
        return client
    }

    private func submit(_ count: Int, to pair: (server: TestServer, client: TestClient)) async throws -> [StreamID] {
        let streams = try await pair.client.perform { connection in
            (0..<count).compactMap { connection.submit(.post("/\($0)", "body")) }
        }
        try await pair.server.journal.wait(for: "the requests") { $0.requests.count == count }
        return streams
    }

    @Test("GOAWAY refuses the streams above its last one, and the others are still answered")
    func goAway() async throws {
        try await withLoop { loop in
            let pair = try await pair(on: loop)
            let streams = try await submit(4, to: pair)
            await pair.server.perform {
                $0.goAway(lastStream: streams[1], .noError, debug: Array(#"{"reason":"Shutdown"}"#.utf8))
            }
            #expect(try await pair.client.code(of: streams[2]) == .refusedStream)
            #expect(try await pair.client.code(of: streams[3]) == .refusedStream)
            let goAway = TestClient.Fact.goAway(streams[1], .noError, #"{"reason":"Shutdown"}"#)
            let entries = pair.client.journal.entries
            let refusal = entries.firstIndex(of: .streamClosed(streams[2], .refusedStream))
            #expect(try #require(entries.firstIndex(of: goAway)) < #require(refusal))
            #expect(try await pair.client.submit(.post("/late", "")) == nil)
            #expect(try await pair.client.perform { $0.openStreams } == 2)

            await pair.server.perform { connection in
                for stream in streams[...1] { connection.respond(stream, status: 200) }
            }
            #expect(try await pair.client.response(on: streams[0]).status == 200)
            #expect(try await pair.client.response(on: streams[1]).status == 200)
            #expect(try await pair.client.closed() == nil)
        }
    }

    @Test("GOAWAY may come twice, with a lower last stream")
    func doubledGoAway() async throws {
        try await withLoop { loop in
            let pair = try await pair(on: loop)
            let streams = try await submit(2, to: pair)
            await pair.server.perform { connection in
                connection.goAway(lastStream: streams[1])
                connection.goAway(lastStream: streams[0], .enhanceYourCalm, debug: Array("plain".utf8))
            }
            #expect(try await pair.client.code(of: streams[1]) == .refusedStream)
            let seen = pair.client.journal.entries.filter { if case .goAway = $0 { true } else { false } }
            #expect(seen == [.goAway(streams[1], .noError, ""), .goAway(streams[0], .enhanceYourCalm, "plain")])
        }
    }

    @Test("GOAWAY with last stream 0 refuses all and ends the connection")
    func goAwayZero() async throws {
        try await withLoop { loop in
            let pair = try await pair(on: loop)
            let streams = try await submit(3, to: pair)
            await pair.server.perform { $0.goAway(lastStream: StreamID(rawValue: 0)) }
            for stream in streams { #expect(try await pair.client.code(of: stream) == .refusedStream) }
            #expect(try await pair.client.closed() == nil)
        }
    }

    @Test(
        "RST_STREAM reaches the other end with its code",
        arguments: [HTTP2ErrorCode.refusedStream, .streamClosed, .cancel, .other(0x1234)])
    func reset(code: HTTP2ErrorCode) async throws {
        try await withLoop { loop in
            let pair = try await pair(on: loop)
            let streams = try await submit(2, to: pair)
            await pair.server.perform { $0.reset(streams[0], code) }
            #expect(try await pair.client.code(of: streams[0]) == code)
            try await pair.client.perform { $0.reset(streams[1], code) }
            #expect(try await pair.client.code(of: streams[1]) == code)
            try await pair.server.journal.wait(for: "the client's reset") { facts in
                facts.contains { if case .streamClosed(streams[1], code) = $0 { true } else { false } }
            }
            #expect(try await pair.client.perform { $0.openStreams } == 0)
            await pair.server.perform { #expect(!$0.respond(streams[1], status: 200)) }
        }
    }

    @Test("shutting down lets open requests finish, takes no more, and then closes")
    func shutDown() async throws {
        try await withLoop { loop in
            let pair = try await pair(on: loop)
            let streams = try await submit(1, to: pair)
            try await pair.client.perform { $0.shutDown() }
            #expect(try await pair.client.submit(.post("/", "")) == nil)
            await pair.server.perform { _ = $0.respond(streams[0], status: 200) }
            #expect(try await pair.client.response(on: streams[0]).status == 200)
            #expect(try await pair.client.closed() == nil)
            let end = try await pair.server.journal.first("the server's end") {
                if case .closed(let failure) = $0 { Optional.some(failure) } else { nil }
            }
            #expect(end == nil)
        }
    }

    @Test("an answer given right before close still arrives")
    func answerThenClose() async throws {
        try await withLoop { loop in
            let pair = try await pair(on: loop)
            let streams = try await submit(2, to: pair)
            await pair.server.perform { connection in
                connection.respond(streams[0], status: 503, body: Array(#"{"reason":"Shutdown"}"#.utf8))
                connection.close()
            }
            let response = try await pair.client.response(on: streams[0])
            #expect(response.status == 503 && response.body == Array(#"{"reason":"Shutdown"}"#.utf8))
            // The other stream's fate is unknown: no event of its own, and the end says why.
            #expect(try await pair.client.closed()?.reason == .endedByPeer)
            let ends = pair.client.journal.entries.filter { if case .streamClosed = $0 { true } else { false } }
            #expect(ends == [.streamClosed(streams[0], .noError)])
        }
    }

    @Test("a client that goes away with requests open is a failure to the server")
    func clientGoes() async throws {
        try await withLoop { loop in
            let pair = try await pair(on: loop)
            _ = try await submit(1, to: pair)
            try await pair.client.perform { $0.close() }
            #expect(try await pair.client.closed() == nil)
            _ = try await pair.server.journal.first("the server's end") { if case .closed = $0 { true } else { nil } }
        }
    }

    @Test("a black hole answers nothing, not even pings, until one side closes")
    func blackHole() async throws {
        try await withLoop { loop in
            let pair = try await pair(on: loop)
            await pair.server.perform { $0.blackHole() }
            let other = try await client(on: loop, of: pair.server)
            try await pair.client.perform { connection in
                connection.ping()
                #expect(connection.submit(.post("/", "")) != nil)
            }
            // By the time the second connection's ping is answered, the first one's would be: one loop serves both.
            try await other.perform { $0.ping() }
            try await other.journal.wait(for: "the other's ping") { $0.contains(.pingAnswered) }
            #expect(!pair.client.journal.entries.contains(.pingAnswered))
            #expect(pair.server.journal.entries.requests.isEmpty)
            try await pair.client.perform { $0.close() }
            #expect(try await pair.client.closed() == nil)
            _ = try await pair.server.journal.first("the server's end") { if case .closed = $0 { true } else { nil } }
        }
    }

    @Test("what a server does not read waits in the kernel and is there when it reads again")
    func stopReading() async throws {
        try await withLoop { loop in
            let pair = try await pair(on: loop)
            await pair.server.perform { $0.stopReading() }
            let stream = try #require(try await pair.client.submit(.post("/waits", "")))
            _ = try await client(on: loop, of: pair.server)
            #expect(pair.server.journal.entries.requests.isEmpty)
            await pair.server.perform { $0.resumeReading() }
            #expect(try await pair.server.nextRequest().0 == stream)
        }
    }
}
