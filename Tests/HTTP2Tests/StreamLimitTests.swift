import EventJournal
import EventLoop
import HTTP2
import Testing

@Suite("The peer's limit on streams")
struct StreamLimitTests {
    /// A server that answers nothing by itself, and a client connected to it.
    private func pair(on loop: EventLoop, limit: Int) async throws -> (server: TestServer, client: TestClient) {
        let settings = HTTP2ServerSettings(maxConcurrentStreams: limit)
        let server = try await TestServer(on: loop, settings: settings) { { _, _ in } }
        return (server, try await TestClient(on: loop, to: server.address))
    }

    @Test("nothing is taken before the connection stands, one request before the settings, then as many as allowed")
    func start() async throws {
        try await withLoop { loop in
            let settings = HTTP2ServerSettings(maxConcurrentStreams: 3)
            let server = try await TestServer(on: loop, settings: settings) { { _, _ in } }
            let taken = Journal<Int>()
            let client = try await TestClient(on: loop, to: server.address) {
                { connection, event in
                    switch event {
                    case .opened, .settings:
                        var count = 0
                        while count < 10, connection.submit(.post("/", "x")) != nil { count += 1 }
                        taken.append(count)
                    case .headers, .data, .streamClosed, .goAway, .pingAnswered, .closed: break
                    }
                }
            }
            try await taken.wait(for: "opened and settings") { $0.count == 2 }
            #expect(taken.entries == [1, 2])
            #expect(try await client.perform { $0.openStreams } == 3)
            #expect(try await client.perform { $0.maxConcurrentStreams } == 3)
        }
    }

    @Test("a limit that rises while requests are open lets more in at once")
    func raised() async throws {
        try await withLoop { loop in
            let (server, client) = try await pair(on: loop, limit: 1)
            try await client.waitUntilReady()
            #expect(try await client.submit(.post("/1", "")) != nil)
            #expect(try await client.submit(.post("/2", "")) == nil)
            _ = try await server.nextRequest()
            await server.perform { $0.updateSettings(maxConcurrentStreams: 1000) }
            try await client.journal.wait(for: "the new limit") { $0.contains(.settings(1000)) }
            let accepted = try await client.perform { connection in
                (0..<2000).count { _ in connection.submit(.post("/more", "")) != nil }
            }
            #expect(accepted == 999)
            try await server.journal.wait(for: "all requests") { $0.requests.count == 1000 }
        }
    }

    @Test("a limit that falls below what is open takes nothing more until enough are answered")
    func lowered() async throws {
        try await withLoop { loop in
            let (server, client) = try await pair(on: loop, limit: 10)
            try await client.waitUntilReady()
            for _ in 0..<10 { #expect(try await client.submit(.post("/", "")) != nil) }
            try await server.journal.wait(for: "ten requests") { $0.requests.count == 10 }
            await server.perform { $0.updateSettings(maxConcurrentStreams: 2) }
            try await client.journal.wait(for: "the new limit") { $0.contains(.settings(2)) }
            #expect(try await client.submit(.post("/", "")) == nil)

            let streams = server.journal.entries.requests.map(\.0)
            await server.perform { connection in
                for stream in streams[..<8] { connection.respond(stream, status: 200) }
            }
            for stream in streams[..<8] { #expect(try await client.code(of: stream) == .noError) }
            #expect(try await client.submit(.post("/", "")) == nil, "two are still open")
            await server.perform { _ = $0.respond(streams[8], status: 200) }
            #expect(try await client.code(of: streams[8]) == .noError)
            #expect(try await client.submit(.post("/", "")) != nil)
        }
    }

    @Test("requests that cross a falling limit on their way are refused, and may be sent again")
    func crossing() async throws {
        try await withLoop { loop in
            let (server, client) = try await pair(on: loop, limit: 10)
            try await client.waitUntilReady()
            #expect(try await client.submit(.post("/first", "")) != nil)
            _ = try await server.nextRequest()
            let crossing = Journal<StreamID>()
            // Both in one job of the loop they share: neither end has read anything of the other's in between.
            await server.perform { [connection = client.connection] server in
                server.updateSettings(maxConcurrentStreams: 1)
                for _ in 0..<5 { connection.value.submit(.post("/crossing", "")).map(crossing.append) }
            }
            #expect(crossing.entries.count == 5)
            for stream in crossing.entries { #expect(try await client.code(of: stream) == .refusedStream) }
            #expect(client.journal.entries.contains(.settings(1)))
            #expect(server.journal.entries.requests.map(\.1.path) == ["/first"])
            #expect(try await client.perform { $0.openStreams } == 1)
        }
    }
}
