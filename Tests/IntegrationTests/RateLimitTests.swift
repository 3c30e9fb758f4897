import CallCore
import CallServer
import CallVocabulary
import ChildProcess
import Foundation
import LibWebSockets
import SoftphoneKit
import SoftphoneSession
import Testing

/// Limits for addresses, users and devices, over all of their connections. Addresses are those that a proxy tells: this
/// machine's own have no limit.
@Suite("A limit for a minute in a running server", .world)
struct RateLimitTests {
    private func start(_ limits: [RateLimit: Int], backends: [BackendToken] = []) async throws -> CallServer {
        let proxy = try #require(AddressRange("127.0.0.1"))
        return try await world.startServer {
            $0.proxies.addresses = [proxy]
            $0.backendTokens = backends
            for (limit, value) in limits { $0.rates[limit] = value }
        }
    }

    private func hits(_ server: CallServer, _ limit: RateLimit) async throws -> Double? {
        let address = try #require(server.metricsAddress)
        return try await HTTPAnswer.metric(
            #"reveille_limits_hit_total{limit="\#(limit.rawValue)"}"#, at: "http://\(address)/metrics")
    }

    private func get(_ server: CallServer, from address: String, _ token: String) async throws -> HTTPAnswer {
        try await HTTPAnswer.curl([
            "--header", "X-Forwarded-For: \(address)", "--header", "Authorization: Bearer \(token)",
            "http://\(server.address)/v1/calls/3554fbe6-9e3d-44fc-aaea-8955b60bb83f",
        ])
    }

    @Test("failed tokens: an address with too many gets 429, while known tokens and other addresses are served")
    func failedTokens() async throws {
        let server = try await start([.failedTokensPerAddress: 3])
        let bob: Handle = "bob"
        let known = try await server.mintToken(user: bob, lifetime: .seconds(60))
        let fresh = try await server.mintToken(user: bob, lifetime: .seconds(61))
        #expect(try await get(server, from: "203.0.113.9", known).status == 403)
        for number in 0..<3 { #expect(try await get(server, from: "203.0.113.9", "made-up-\(number)").status == 401) }
        for token in ["made-up", fresh] {
            let refused = try await get(server, from: "203.0.113.9", token)
            #expect(refused.status == 429 && 1...20 ~= Int(refused.headers["retry-after"] ?? "") ?? 0)
            #expect(refused.body.contains(#""rate_limited""#) && refused.body.contains("retry_after_ms"))
        }
        #expect(try await get(server, from: "203.0.113.9", known).status == 403)
        #expect(try await get(server, from: "203.0.113.10", fresh).status == 403)
        #expect(try await hits(server, .failedTokensPerAddress) == 2)
        // The same limit for session.open, which stays possible on the connection.
        let answers = try await python(
            server, from: "203.0.113.9",
            [
                """
                for token in ["made-up", "\(try await server.mintToken(user: bob, lifetime: .seconds(62)))", "\(known)"]:
                    await ws.send(open(token))
                    print(await ws.recv())
                """
            ])[0]
        let lines = answers.split(separator: "\n")
        #expect(
            lines.count == 3 && lines[0].contains("rate_limited") && lines[1].contains("rate_limited"), "\(answers)")
        #expect(lines.last?.contains("session_id") == true, "\(answers)")
    }

    @Test("requests and connections of one address")
    func addresses() async throws {
        let server = try await start([.requestsPerAddress: 2, .connectsPerAddress: 3])
        let token = try await server.mintToken(user: "bob", lifetime: .seconds(60))
        var statuses: [Int] = []
        for address in ["203.0.113.9", "203.0.113.9", "203.0.113.9", "203.0.113.10"] {
            statuses.append(try await get(server, from: address, token).status)
        }
        #expect(statuses == [403, 403, 429, 403])
        let answers = try await python(
            server, from: "203.0.113.20", Array(repeating: "print('open')", count: 4))
        for (number, answer) in answers.enumerated() {
            #expect(answer.contains(number < 3 ? "open" : "429"), "\(answers)")
        }
        #expect(try await hits(server, .requestsPerAddress) == 1)
        #expect(try await hits(server, .connectsPerAddress) == 1)
    }

    private func status(
        _ server: CallServer, _ path: String, from address: String, _ options: [String] = []
    ) async throws -> Int {
        let header = ["--header", "X-Forwarded-For: \(address)"]
        return try await HTTPAnswer.curl(header + options + ["http://\(server.address)\(path)"]).status
    }

    @Test("requests of strangers that cost little: health checks, preflights, the WebSockets' path, unknown paths")
    func strangers() async throws {
        let server = try await start([.requestsPerAddress: 2])
        let preflight = [
            "--request", "OPTIONS", "--header", "Origin: https://app.example", "--header",
            "Access-Control-Request-Method: GET",
        ]
        let rows: [(path: String, options: [String], status: Int)] = [
            ("/readyz", [], 200), ("/healthz", [], 200), ("/homez", [], 200), ("/v1/signal", [], 426),
            ("/v1/turn", preflight, 204), ("/v1/backend/calls", [], 401), ("/v1/nothing", [], 404),
            ("/v1/calls/3554fbe6-9e3d-44fc-aaea-8955b60bb83f", [], 401),
        ]
        for (number, row) in rows.enumerated() {
            var statuses: [Int] = []
            for _ in 0..<3 {
                statuses.append(try await status(server, row.path, from: "203.0.113.\(number)", row.options))
            }
            #expect(statuses == [row.status, row.status, 429], "\(row.path)")
        }
        // Health checks have their own count, so that a flood of requests stops no load balancer's.
        #expect(try await status(server, "/v1/nothing", from: "203.0.113.1") == 404)
        #expect(try await status(server, "/healthz", from: "203.0.113.6") == 200)
    }

    @Test("requests of calls whose body comes late or never count once, whatever their token")
    func lateBodies() async throws {
        let server = try await start([.requestsPerAddress: 2])
        let token = try await server.mintToken(user: "bob", lifetime: .seconds(60))
        let script = """
            import socket, sys
            host, port = sys.argv[1].rsplit(":", 1)
            for number, token in enumerate(["", "wake1.AAAA", sys.argv[2]]):
                for _ in range(3):
                    field = "Authorization: Bearer %s\\r\\n" % token if token else ""
                    head = ("POST /v1/calls/3554fbe6-9e3d-44fc-aaea-8955b60bb83f/answer HTTP/1.1\\r\\nHost: a\\r\\n"
                            "X-Forwarded-For: 203.0.113.%d\\r\\n%sContent-Length: 2\\r\\n\\r\\n" % (number, field))
                    with socket.create_connection((host, int(port)), 20) as connection:
                        connection.sendall(head.encode())
                        if number == 2:
                            connection.sendall(b"{}")
                        print(connection.recv(12).decode().split()[1])
            """
        let result = try await ChildProcess.run(
            "/usr/bin/python3", ["-", "\(server.address)", token], input: script, within: .seconds(60))
        let isRefused = result.output.split(separator: "\n").map { $0 == "429" }
        #expect(isRefused == [false, false, true, false, false, true, false, false, true], "\(result.output)")
        #expect(try await hits(server, .requestsPerAddress) == 3)
    }

    @Test("made-up tokens of backends; a backend's own token has no limit")
    func backendTokens() async throws {
        let made = BackendToken.make(name: "pbx", role: .read, scope: BackendScope())
        let server = try await start(
            [.failedTokensPerAddress: 2, .requestsPerAddress: 4], backends: try BackendToken.read(made.line))
        func get(_ token: String) async throws -> Int {
            let options = ["--header", "Authorization: Bearer \(token)"]
            return try await status(server, "/v1/backend/calls", from: "203.0.113.9", options)
        }
        var statuses: [Int] = []
        for number in 0..<3 { statuses.append(try await get("made-up-\(number)")) }
        #expect(statuses == [401, 401, 429])
        for _ in 0..<6 { #expect(try await get(made.text) == 200) }
    }

    @Test("calls of one user, over all of its devices; another user's are placed")
    func invites() async throws {
        let server = try await start([.invitesPerUser: 2])
        let phones = [
            try await world.onlinePhone("alice", at: server.address),
            try await world.onlinePhone("alice", at: server.address),
        ]
        _ = try await world.onlinePhone("bob", at: server.address)
        for phone in phones {
            let call = try await phone.softphone.call(.user("bob"))
            _ = try await phone.hangUp(call)
        }
        for phone in phones {
            await #expect {
                _ = try await phone.softphone.call(.user("bob"))
            } throws: { "\($0)".contains("rate") }
        }
        let carol = try await world.onlinePhone("carol", at: server.address)
        _ = try await carol.softphone.call(.user("bob"))
        #expect(try await hits(server, .invitesPerUser) == 2)
    }

    @Test("sessions of one device, and of one user; the answer says when the next may be opened")
    func opens() async throws {
        let server = try await start([.opensPerDevice: 2, .opensPerUser: 3])
        let token = try await server.mintToken(user: "bob", lifetime: .seconds(60))
        let bodies = [1, 1, 1, 2, 3].map { "await ws.send(open('\(token)', \($0)))\nprint(await ws.recv())" }
        let answers = try await python(server, from: "203.0.113.9", bodies)
        let isOpened = answers.map { $0.contains("session_id") }
        #expect(isOpened == [true, true, false, true, false], "\(answers)")
        for answer in [answers[2], answers[4]] {
            #expect(answer.contains("rate_limited") && answer.contains("retry_after_ms"))
        }
        for limit in [RateLimit.opensPerDevice, .opensPerUser] { #expect(try await hits(server, limit) == 1) }
    }

    @Test("messages of one user, over all connections and by HTTP; a reload lifts the limit")
    func messages() async throws {
        let server = try await start([.messagesPerUser: 5])
        let token = try await server.mintToken(user: "bob", lifetime: .seconds(60))
        let list = #"{"jsonrpc":"2.0","id":2,"method":"call.list","params":{}}"#
        let body = """
            await ws.send(open('\(token)'))
            print(await ws.recv())
            for _ in range(4):
                await ws.send('\(list)')
                print(await ws.recv())
            """
        func refusals(_ answer: String) -> Int { answer.components(separatedBy: "rate_limited").count - 1 }
        let answers = try await python(server, from: "203.0.113.9", [body, body])
        // Those before the session is open do not count.
        #expect(answers.map(refusals) == [0, 3], "\(answers)")
        let refused = try await get(server, from: "203.0.113.10", token)
        #expect(refused.status == 429 && 1...20 ~= Int(refused.headers["retry-after"] ?? "") ?? 0)
        let other = try await server.mintToken(user: "carol", lifetime: .seconds(60))
        #expect(try await get(server, from: "203.0.113.10", other).status == 403)
        var reload = ServerReload()
        reload.rates = RateLimits()
        try await server.reload(reload)
        #expect(refusals(try await python(server, from: "203.0.113.9", [body])[0]) == 0)
    }

    /// Runs each of `bodies`, one after the other, with an open WebSocket `ws` of its own, and a function
    /// `open(token, device)` for the text of `session.open`. All in one process: the limits let more in with time.
    /// - Returns: what each printed; a status if its WebSocket was refused.
    private func python(_ server: CallServer, from address: String, _ bodies: [String]) async throws -> [String] {
        let functions = bodies.enumerated().map { number, body in
            let lines = body.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n")
            return "async def body\(number)(ws):\n\(lines)"
        }
        let script = """
            import asyncio, json, sys, websockets
            def open(token, device=1):
                device = "3554fbe6-9e3d-44fc-aaea-%012d" % device
                return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.open", "params": {
                    "token": token, "device": {"id": device, "platform": "ios"}}})
            \(functions.joined(separator: "\n"))
            async def main():
                for body in [\(bodies.indices.map { "body\($0)" }.joined(separator: ", "))]:
                    try:
                        async with websockets.connect(sys.argv[1], subprotocols=["reveille.v1"],
                                                      extra_headers={"X-Forwarded-For": sys.argv[2]}) as ws:
                            await ws.recv()
                            await body(ws)
                    except websockets.InvalidStatusCode as refused:
                        print(refused.status_code)
                    print("\(Self.end)")
            asyncio.run(asyncio.wait_for(main(), 40))
            """
        let result = try await ChildProcess.run(
            "/usr/bin/python3", ["-", "ws://\(server.address)/v1/signal", address], input: script, within: .seconds(60))
        #expect(result.ending == .exit(0), "\(result.output)")
        let answers = result.output.components(separatedBy: Self.end + "\n").dropLast()
        try #require(answers.count == bodies.count, "\(result.output)")
        return Array(answers)
    }

    /// The line after what each body printed.
    private static let end = "--- the end of a body"
}
