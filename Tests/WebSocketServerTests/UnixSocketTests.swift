import ChildProcess
import EventJournal
import EventLoop
import Foundation
import LibWebSockets
import TestCleanup
import Testing
import WebSocketServer

@Suite("A server on a Unix socket", .cleanup)
struct UnixSocketTests {
    private let path = NSTemporaryDirectory() + "ws-\(UUID().uuidString.prefix(8)).sock"
    /// The name of the server's thread, of at most 15 bytes. Other tests have threads in this process.
    private let loop = "sole-\(UUID().uuidString.prefix(8))"
    /// Names nobody: the socket is what is connected to.
    private let url = WebSocketURL(isSecure: false, host: "no.such.name.invalid", port: 80, path: "/v1/signal")

    private func start(stopsAtEnd: Bool = true) async throws -> TestServer {
        let address = try SocketAddress(path: path)
        return try await TestServer.start(stopsAtEnd: stopsAtEnd) {
            $0.address = address
            $0.soleLoop = loop
        }
    }

    /// How many threads of this process have the name.
    private func threads(named name: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { thread in
            let comm = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
            return comm == name + "\n"
        }
    }

    @Test("our client gets its text back, short or long, over one thread that accepts and serves")
    func ownClient() async throws {
        let server = try await start()
        #expect(server.address.path == path)
        let (client, journal) = try await TestClient.opened(to: url, unixSocket: server.address)
        #expect(try threads(named: loop) == 1)
        client.send("hello")
        try await journal.wait(for: .received("hello"))
        client.send(String(repeating: "x", count: 65_536))
        try await journal.wait(for: .received("65536 bytes"))
        client.close(code: 1000, reason: "done")
        try await journal.wait(for: .closed(1000, "done"))
        await client.stop()
        await server.stop()
        #expect(server.server.statistics.accepted == 1)
        #expect(server.server.statistics.shards[0].connections == 0)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("Debian's client gets its text back")
    func foreignClient() async throws {
        _ = try await start()
        let script = """
            import asyncio, os, sys, websockets
            async def main():
                async with websockets.unix_connect(sys.argv[1], uri="ws://localhost/v1/signal",
                                                   subprotocols=["reveille.v1"]) as ws:
                    await ws.send("grüezi")
                    print(ws.subprotocol, await ws.recv())
                    await ws.send("who am I")
                    print(await ws.recv() == f"uid {os.getuid()}, pid {os.getpid()}")
            asyncio.run(asyncio.wait_for(main(), 20))
            """
        let result = try await ChildProcess.run("/usr/bin/python3", ["-", path], input: script)
        #expect(result.ending == .exit(0))
        #expect(result.output == "reveille.v1 grüezi\nTrue\n")
    }

    @Test("our client reports a path where nobody listens, and one that is not there")
    func nobodyListens() async throws {
        _ = try await TestClient.failure(of: url, unixSocket: try SocketAddress(path: path))
    }

    @Test("a server that is released while it runs cuts its connections and ends its one thread")
    func released() async throws {
        let client = try await TestClient()
        let journal = Journal<ClientEvent>()
        var server: TestServer? = try await start(stopsAtEnd: false)
        await client.connect(to: url, unixSocket: try SocketAddress(path: path), journal: journal)
        try await journal.wait(for: .opened)
        server = nil
        try await journal.wait(for: "the end") { if case .closed = $0.last { true } else { false } }
        await client.stop()
        #expect(server == nil)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
