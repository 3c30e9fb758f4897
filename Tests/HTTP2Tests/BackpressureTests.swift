import EventJournal
import EventLoop
import HTTP2
import Testing

/// The sizes keep below half of every window, at which an end would send an update: nothing that comes in can take the
/// place of the writer's own going on.
@Suite("More to write than the kernel takes")
struct BackpressureTests {
    @Test("four responses of 200 kB, all ready in one turn, arrive complete")
    func manyResponses() async throws {
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let server = try await TestServer(on: loop, tls: certificates.serverContext()) { { _, _ in } }
            let client = try await TestClient(on: loop, to: server.address, tls: certificates.clientContext())
            try await client.waitUntilReady()
            let streams = try await client.perform { connection in
                (0..<4).compactMap { connection.submit(.post("/\($0)", "")) }
            }
            try await server.journal.wait(for: "the requests") { $0.requests.count == 4 }
            await server.perform { connection in
                for stream in streams {
                    connection.respond(stream, status: 200, body: [UInt8](repeating: 5, count: 200_000))
                }
            }
            for stream in streams {
                let response = try await client.response(on: stream)
                #expect(response.body.count == 200_000 && response.code == .noError)
            }
        }
    }

    @Test("an upload of 8 MB waits for a server that does not read, and goes on when it does")
    func slowReader() async throws {
        try await withLoop { loop in
            let window = 32 * 1024 * 1024
            let settings = HTTP2ServerSettings(streamWindow: window, connectionWindow: window, maxBody: 10_000_000)
            let server = try await TestServer(on: loop, settings: settings)
            let client = try await TestClient(on: loop, to: server.address)
            try await client.waitUntilReady()
            await server.perform { $0.stopReading() }
            let body = [UInt8](repeating: 3, count: 8_000_000)
            let request = HTTP2Request(method: "POST", authority: "localhost", path: "/", body: body)
            let stream = try #require(try await client.submit(request))
            #expect(server.journal.entries.requests.isEmpty)
            await server.perform { $0.resumeReading() }
            #expect(try await server.nextRequest().1.body == body)
            #expect(try await client.response(on: stream).status == 200)
        }
    }
}
