import Foundation

/// A WebSocket server that is not ours (Debian's python3-websockets), playing a fixed script in a process of its own.
///
/// The first connection: welcome, an incoming call, and after the answer a close with 3001. The second has to resume,
/// and learns that the call is over. `lines` is what the client said, one method a line.
final class ForeignServer {
    private let process = Process()
    private let output = Pipe()
    let port: Int

    static let callID = "11111111-2222-4333-8444-555555555555"

    static var isAvailable: Bool {
        let probe = Process()
        probe.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        probe.arguments = ["-c", "import websockets"]
        probe.standardError = FileHandle.nullDevice
        guard (try? probe.run()) != nil else { return false }
        probe.waitUntilExit()
        return probe.terminationStatus == 0
    }

    init() throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-u", "-c", Self.script]
        process.standardOutput = output
        try process.run()
        var line: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { line.append(byte) }
        port = Int(String(decoding: line, as: UTF8.self)) ?? 0
    }

    /// Waits for the script to end, which it does after the second connection, and returns what it wrote.
    func finish() throws -> [String] {
        let rest = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: rest, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    deinit {
        if process.isRunning { process.terminate() }
    }

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
