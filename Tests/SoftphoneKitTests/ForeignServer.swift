import ChildProcess
import EventJournal
import Glibc

/// A WebSocket server that is not ours (Debian's python3-websockets), playing a fixed script in a process of its own.
///
/// The first connection: welcome, an incoming call, and after the answer a close with 3001. The second has to resume,
/// and learns that the call is over. `lines` is what the client said, one method a line.
final class ForeignServer: Sendable {
    private let process: ChildProcess
    private let output: Journal<[UInt8]>
    let port: Int

    static let callID = "11111111-2222-4333-8444-555555555555"

    /// - Parameter script: prints its port.
    init(script: String = script) async throws {
        let output = Journal<[UInt8]>()
        self.output = output
        process = try ChildProcess.start(
            "/usr/bin/python3", ["-u", "-c", script], output: .pipe(output.append))
        try await output.wait(for: "its port") { $0.joined().contains(UInt8(ascii: "\n")) || $0.last == [] }
        port = Self.lines(output.entries).first.flatMap { Int($0) } ?? 0
    }

    private static func lines(_ parts: [[UInt8]]) -> [String] {
        String(decoding: parts.joined(), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Waits for the script to end, which it does after the second connection, and returns what it wrote after its port.
    func finish() async -> [String] {
        _ = await process.waitForExit(atMost: .seconds(40))
        return Array(Self.lines(output.entries).dropFirst())
    }

    deinit { process.send(SIGKILL) }

    /// A server that announces a frame of 2^63 - 1 bytes.
    static let endlessFrame = """
        import base64, hashlib, socket
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1])
        while True:
            peer, _ = listener.accept()
            key = b""
            for line in iter(peer.makefile("rb").readline, b"\\r\\n"):
                if line.lower().startswith(b"sec-websocket-key:"):
                    key = line.split(b":")[1].strip()
            digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
            peer.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n")
            peer.sendall(b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\\r\\n")
            peer.sendall(b"Sec-WebSocket-Protocol: reveille.v1\\r\\n\\r\\n")
            peer.sendall(b"\\x81\\x7f\\x7f" + b"\\xff" * 7 + b"{" * 4096)
        """

    private static let script = """
        import asyncio, json, time, websockets
        CALL = "\(callID)"
        now = lambda: int(time.time() * 1000)
        finished = None
        connections = 0

        async def receive(ws):
            message = json.loads(await asyncio.wait_for(ws.recv(), 20))
            print(message["method"])
            return message

        async def until(ws, method):
            while True:
                message = await receive(ws)
                if message["method"] == method:
                    return message
                if "id" in message:
                    await reply(ws, message, {"state": "ringing"})

        async def notify(ws, method, params):
            await ws.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

        async def reply(ws, message, result):
            await ws.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))

        async def serve(ws, path):
            global connections
            connections += 1
            print(path, ws.subprotocol)
            await notify(ws, "welcome", {"protocol": 1, "server": "foreign", "version": "0", "node": "n",
                "time": now(), "ping_interval_ms": 20000, "max_frame_bytes": 65536, "features": []})
            message = await receive(ws)
            resume = message["params"].get("resume")
            print("token", message["params"]["token"], "resume", resume["last_seq"] if resume else None)
            await reply(ws, message, {"session_id": CALL, "user": "alice",
                "resume": {"token": "r%d" % connections, "window_ms": 30000},
                "resumed": resume is not None, "calls": [], "missed": []})
            if connections == 1:
                await notify(ws, "call.incoming", {"seq": 1, "call_id": CALL,
                    "from": {"handle": "bob", "handle_type": "generic"}, "to": "alice", "video": False,
                    "sdp": "v=0", "candidates": [], "expires_at": now() + 45000, "remaining_ms": 45000})
                message = await until(ws, "call.answer")
                print("sdp", repr(message["params"]["sdp"]))
                await reply(ws, message, {"won": True})
                await ws.close(3001, "slow consumer")
            else:
                await notify(ws, "call.ended", {"seq": 2, "call_id": CALL, "reason": "hangup", "at": now(),
                    "callkit_reason": "remoteEnded", "sip_status": 200, "q850": 16})
                message = await until(ws, "session.close")
                await reply(ws, message, {})
                await ws.close(1000)
                finished.set_result(None)

        async def main():
            global finished
            finished = asyncio.get_running_loop().create_future()
            async with websockets.serve(serve, "127.0.0.1", 0, subprotocols=["reveille.v1"]) as server:
                print(server.sockets[0].getsockname()[1])
                await asyncio.wait_for(finished, 30)

        asyncio.run(main())
        """
}
