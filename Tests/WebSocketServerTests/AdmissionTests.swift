import Dispatch
import EventJournal
import EventLoop
import LibWebSockets
import TestCleanup
import Testing
import WebSocketServer

/// Who comes in, and who goes, when all connections are taken.
@Suite("A full listener", .cleanup, .timeLimit(.minutes(5)))
struct AdmissionTests {
    private func get(_ server: TestServer, _ path: String) async throws -> String {
        let client = try RawClient(port: server.address.port)
        try await client.write("GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        return String(decoding: try await client.readToEnd(), as: UTF8.self)
    }

    private func isThere(_ client: RawClient) async throws -> Bool {
        try await client.sendFrame(opcode: 1, Array("there?".utf8))
        return frames(in: try await client.read()).first?.payload == Array("there?".utf8)
    }

    @Test(
        "cuts the oldest connection that nobody vouches for, whatever it is about to send",
        arguments: ["", "GET /healthz HT", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 65000\r\n\r\n"])
    func evictsTheOldest(_ start: String) async throws {
        let reports = Journal<ConnectionPressure.Cause>()
        let server = try await TestServer.start {
            $0.maxConnections = 20
            $0.onPressure = { reports.append($0.cause) }
        }
        let session = try await server.connect()
        var attackers: [RawClient] = []
        for _ in 0..<19 {
            attackers.append(try RawClient(port: server.address.port))
            try await attackers[attackers.count - 1].write(start)
        }
        // Thrice as many honest ones as there is room for, each served and gone.
        for _ in 0..<60 { #expect(try await get(server, "/healthz").hasSuffix("fine\n")) }
        let newcomer = try await server.connect()
        #expect(try await isThere(newcomer))
        #expect(try await isThere(session))
        #expect(server.server.statistics.refused == 0)
        #expect(server.server.statistics.evicted >= 1)
        #expect(reports.entries == [.eviction])
        // The oldest went first.
        #expect(try await attackers[0].readToEnd().isEmpty)
    }

    @Test("cuts WebSockets that nobody vouches for before those that somebody does")
    func evictsUnopened() async throws {
        let server = try await TestServer.start {
            $0.maxConnections = 3
            $0.vouchesForAll = false
        }
        let vouched = try await server.connect()
        try await vouched.sendFrame(opcode: 1, Array("vouch for me".utf8))
        try await server.journal.wait(for: .received(1, "vouch for me"))
        let idle = try await server.connect()
        let other = try await server.connect()
        let newcomer = try await server.connect()
        #expect(try await idle.readToEnd().isEmpty)
        try await server.journal.wait(for: .closed(2))
        for client in [vouched, other, newcomer] { #expect(try await isThere(client)) }
        #expect(server.server.statistics.evicted == 1)
    }

    @Test("with everybody vouched for, answers the reserved paths, and everything else with 503")
    func reserved() async throws {
        let reports = Journal<ConnectionPressure.Cause>()
        let server = try await TestServer.start {
            $0.maxConnections = 2
            $0.reservedPaths = ["/healthz"]
            $0.refusalForm = { HTTPResponse(status: $0.status, contentType: "x/formed", headers: $0.headers) }
            $0.onPressure = { reports.append($0.cause) }
        }
        let clients = [try await server.connect(), try await server.connect()]
        // More than the reserve has places, one after the other.
        for _ in 0..<WebSocketServer.reserve + 5 {
            #expect(try await get(server, "/healthz").hasPrefix("HTTP/1.1 200 "))
        }
        let refused = try await get(server, "/echo")
        #expect(refused.hasPrefix("HTTP/1.1 503 ") && refused.contains("Retry-After: 1\r\n"))
        #expect(refused.contains("Content-Type: x/formed\r\n"))
        let late = try RawClient(port: server.address.port)
        #expect(try await late.handshake().hasPrefix("HTTP/1.1 503 "))
        // Silent ones in all places of the reserve keep nobody out either, though they come before the shard sees one.
        let gate = DispatchSemaphore(value: 0)
        server.loops[0].execute { gate.wait() }
        let silent = try (0..<WebSocketServer.reserve * 3).map { _ in try RawClient(port: server.address.port) }
        gate.signal()
        #expect(try await get(server, "/healthz").hasPrefix("HTTP/1.1 200 "))
        withExtendedLifetime(silent) {}
        for client in clients { #expect(try await isThere(client)) }
        #expect(reports.entries.first == .full)
        #expect(server.server.statistics.full > 0)
    }

    @Test("lets go of a client that does not take its answer, for another")
    func slowReader() async throws {
        let server = try await TestServer.start { $0.maxConnections = 2 }
        let session = try await server.connect()
        let slow = try RawClient(port: server.address.port)
        try await slow.write("GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
        try await server.journal.wait(for: .requested("GET /large"))
        // The handler has answered by then.
        _ = await server.loops[0].run {}
        #expect(try await get(server, "/healthz").hasPrefix("HTTP/1.1 200 "))
        #expect(try await isThere(session))
        withExtendedLifetime(slow) {}
    }

    @Test("counts each connection back, however it ended")
    func countsBack() async throws {
        let server = try await TestServer.start {
            $0.maxConnections = 40
            $0.requestTimeout = .milliseconds(20)
        }
        for round in 0..<200 {
            let client = try RawClient(port: server.address.port)
            // On a busy machine the timeout may end any of them.
            switch round % 5 {
            case 0: _ = try? await client.handshake()
            case 1: try? await client.write("GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            case 2: try? await client.write("nonsense\r\n\r\n")
            case 3: _ = try await client.readToEnd()
            default: break
            }
        }
        var last: RawClient?
        for _ in 0..<100 where last == nil {
            let client = try RawClient(port: server.address.port)
            if (try? await client.handshake())?.hasPrefix("HTTP/1.1 101") == true { last = client }
        }
        #expect(try await isThere(try #require(last)))
        #expect(server.server.statistics.refused == 0)
    }
}
