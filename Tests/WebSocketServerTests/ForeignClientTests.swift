import ChildProcess
import EventJournal
import LibWebSockets
import TestCleanup
import Testing
import WebSocketServer

/// Debian's python3-websockets as the client: another implementation of RFC 6455, so that ours is not only tested
/// against itself.
@Suite("A foreign client", .cleanup)
struct ForeignClientTests {
    private let server: TestServer

    init() async throws { server = try await TestServer.start() }

    private func python(_ server: TestServer, _ body: String) async throws -> String {
        let script = """
            import asyncio, sys, websockets
            async def main():
                async with websockets.connect(sys.argv[1], subprotocols=["other", "reveille.v1"],
                                              max_size=None, compression="deflate") as ws:
            \(body.split(separator: "\n").map { "        " + $0 }.joined(separator: "\n"))
            async def end(ws):
                try:
                    await ws.recv()
                except websockets.ConnectionClosed as closed:
                    print(closed.rcvd.code, closed.rcvd.reason)
            asyncio.run(asyncio.wait_for(main(), 20))
            """
        let result = try await ChildProcess.run("/usr/bin/python3", ["-", server.url.description], input: script)
        #expect(result.ending == .exit(0), "\(result.output)")
        return result.output
    }

    @Test("negotiates the subprotocol but no compression, and gets its text back")
    func echo() async throws {
        let output = try await python(
            server,
            """
            print(ws.subprotocol, ws.extensions)
            await ws.send("grüezi")
            print(await ws.recv())
            """)
        #expect(output == "reveille.v1 []\ngrüezi\n")
        try await server.journal.wait(for: .closed(1))
    }

    @Test("is pinged and its own pings are answered")
    func ping() async throws {
        let output = try await python(server, "await (await ws.ping())\nprint('pong')")
        #expect(output == "pong\n")
    }

    @Test("binary is refused with 1003")
    func binary() async throws {
        #expect(try await python(server, "await ws.send(b'x')\nawait end(ws)") == "1003 text frames only\n")
        try await server.journal.wait(for: .closed(1))
        #expect(server.server.statistics.shards[0].badFrames == 1)
        #expect(server.server.statistics.shards[0].messagesIn == 0)
    }

    @Test("a message of the largest size comes back, one byte more is refused with 3502")
    func tooLarge() async throws {
        let output = try await python(
            server,
            """
            await ws.send("x" * 65536)
            print(len(await ws.recv()))
            await ws.send("x" * 65537)
            await end(ws)
            """)
        #expect(output == "65536\n3502 message too large\n")
    }

    @Test("many small fragments over the bound are refused with 3502")
    func tooManyFragments() async throws {
        let server = try await TestServer.start { $0.maxFrameBytes = 5000 }
        let output = try await python(server, "await ws.send(['x' * 999] * 6)\nawait end(ws)")
        #expect(output == "3502 message too large\n")
    }

    @Test("invalid UTF-8 is refused with 1007, also when it is cut off at the end or split over fragments")
    func invalidText() async throws {
        for bytes in ["b'a\\xff'", "b'\\xe2\\x82'", "b'\\xed\\xa0\\x80'", "b'x' * 3000 + b'\\xc0\\x80'"] {
            let output = try await python(
                server, "await ws.write_frame(True, 1, \(bytes))\nawait end(ws)")
            #expect(output == "1007 invalid UTF-8\n", "\(bytes)")
        }
        let split = "await ws.write_frame(False, 1, b'\\xe2')\nawait ws.write_frame(True, 0, b'\\x82\\xac')\n"
        #expect(try await python(server, split + "print(await ws.recv())") == "€\n")
    }

    @Test("a message in fragments, with a ping between them, comes as one")
    func fragments() async throws {
        let output = try await python(
            server,
            """
            await ws.write_frame(False, 1, b'one ')
            await ws.write_frame(True, 9, b'ping')
            await ws.write_frame(False, 0, b'two ')
            await ws.write_frame(True, 0, b'three')
            print(await ws.recv())
            await ws.write_frame(True, 1, b'')
            print(repr(await ws.recv()))
            """)
        #expect(output == "one two three\n''\n")
    }
}
