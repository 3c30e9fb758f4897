import CallServer
import CallVocabulary
import Foundation
import Glibc
import LibWebSockets
import SoftphoneKit
import SoftphoneSession
import Testing

@Suite("Sessions in the log, the metrics and the lists", .world)
struct SessionTraceTests {
    /// The program's JSON lines with this message.
    private static func lines(_ program: Program, _ message: String) -> [JSONObject] {
        program.errors.entries.compactMap { try? JSONObject($0) }.filter { $0["message"] as? String == message }
    }

    /// A server in its own process with a metrics listener.
    private static func serve(
        _ arguments: String..., environment: [String: String] = [:]
    ) async throws -> (program: Program, address: String, metrics: String) {
        let program = try world.start(
            Program.reveille,
            ["serve", "--data", world.folder, "--port", "0", "--metrics-listen", "127.0.0.1:0"] + arguments,
            environment: environment)
        let line = try await program.errors.first("the server listens") {
            $0.contains(#""message":"listening""#) ? $0 : nil
        }
        let object = try JSONObject(line)
        return (program, try #require(object["address"] as? String), try #require(object["metrics"] as? String))
    }

    @Test("nine bad tokens are counted, and logged with address and reason, without the tokens")
    func badTokens() async throws {
        let (program, address, metrics) = try await Self.serve()
        for number in 0..<9 {
            let phone = try await world.phone("mallory", at: address) { $0.token = .fixed("made-up-\(number)") }
            await #expect(throws: (any Error).self) { try await phone.softphone.connect() }
        }
        #expect(try await HTTPAnswer.metric(#"reveille_session_opens_total{result="bad_token"}"#, at: metrics) == 9)
        _ = try await eventually("the closes are counted") {
            let series = #"reveille_connections_closed_total{by="server",code="3500"}"#
            return try await HTTPAnswer.metric(series, at: metrics) == 9 ? true : nil
        }
        program.send(SIGTERM)
        let result = try await program.result()
        let refusals = Self.lines(program, "session refused")
        #expect(refusals.count == 5)
        for line in refusals {
            #expect(line["level"] as? String == "notice" && line["reason"] as? String == "bad_token")
            #expect((line["address"] as? String)?.hasPrefix("127.0.0.1:") == true)
        }
        let more = Self.lines(program, "session refused, repeated")
        #expect(more.count == 1 && more.first?["more"] as? Int == 4)
        #expect(!result.errors.contains("made-up"))
    }

    @Test("a session is opened, lost, resumed and closed, with one line each, and the list shows its address")
    func life() async throws {
        let (program, address, metrics) = try await Self.serve()
        let wire = try world.wire(to: address)
        let alice = try await world.onlinePhone("alice", at: wire.address)
        let list = try await world.reveille("sessions list --output json")
        let session = try #require(try JSONObject(list.output).objects("sessions").first)
        let shown = try #require(session["address"] as? String)
        #expect(shown.hasPrefix("127.0.0.1:"))
        let table = try await world.reveille("sessions list")
        #expect(table.output.contains("ADDRESS"))

        wire.break()
        _ = try await eventually("the session is resumed") {
            try await HTTPAnswer.metric(#"reveille_session_opens_total{result="resumed"}"#, at: metrics) == 1
                ? true : nil
        }
        #expect(try await HTTPAnswer.metric(#"reveille_session_opens_total{result="opened"}"#, at: metrics) == 1)
        await alice.softphone.disconnect()
        try await program.errors.first("both are closed") { line -> Bool? in
            line.contains(#""message":"connection closed""#) && line.contains(#""code":1000,"#) ? true : nil
        }
        let opened = Self.lines(program, "session opened")
        #expect(opened.compactMap { $0["kind"] as? String } == ["opened", "resumed"])
        #expect(opened.allSatisfy { $0["user"] as? String == "alice" && $0["level"] as? String == "info" })
        #expect(opened.first?["address"] as? String == shown)
        #expect(Set(opened.compactMap { $0["session_id"] as? String }).count == 1)
        let closed = Self.lines(program, "connection closed")
        #expect(closed.compactMap { $0["by"] as? String } == ["network", "server"])
        #expect(closed.first?["code"] == nil && closed.last?["code"] is Int && closed.last?["ms"] is Int)
    }

    @Test("HTTP requests without a valid token, and refused handshakes, are counted and logged with the client address")
    func refusals() async throws {
        let (program, address, metrics) = try await Self.serve(environment: ["REVEILLE_LISTEN_PROXIES": "127.0.0.1"])
        let path = "/v1/calls/3554fbe6-9e3d-44fc-aaea-8955b60bb83f"
        let client = ["--header", "X-Forwarded-For: 10.0.0.1, 203.0.113.9"]
        for options in [client, client + ["--header", "Authorization: Bearer made-up"]] {
            #expect(try await HTTPAnswer.curl(options + ["http://\(address)\(path)"]).status == 401)
        }
        let mine = "Authorization: Bearer " + (try await world.token("bob"))
        let strange = try await HTTPAnswer.curl(["--header", mine] + client + ["http://\(address)\(path)"])
        #expect(strange.status == 403)
        let upgrade = [
            "--header", "Connection: Upgrade", "--header", "Upgrade: websocket", "--header",
            "Sec-WebSocket-Version: 13", "--header", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
        _ = try await HTTPAnswer.curl(client + upgrade + ["http://\(address)/elsewhere"])
        #expect(try await HTTPAnswer.metric(#"reveille_http_refusals_total{status="401"}"#, at: metrics) == 2)
        try await program.errors.first("the handshake's line") { $0.contains("handshake refused") ? true : nil }
        let requests = Self.lines(program, "request refused")
        #expect(requests.map { $0["user"] as? String } == [nil, nil, "bob"])
        let handshakes = Self.lines(program, "handshake refused")
        #expect(handshakes.compactMap { $0["reason"] as? String } == ["http_404"])
        for line in requests + handshakes { #expect(line["address"] as? String == "203.0.113.9") }
        #expect(!program.errors.entries.contains { $0.contains("made-up") })
    }

    @Test("a request that is refused by its head is counted by its status")
    func headRefusals() async throws {
        let (_, address, metrics) = try await Self.serve()
        let push = "/v1/pushes/\(PushID.random())/report"
        for (options, status) in [
            (["--header", "Transfer-Encoding: chunked", "--data", "{}"], 411),
            (["--header", "Expect:", "--data", String(repeating: " ", count: 65_537)], 413),
            (["--request", "POST", "--header", "Content-Length: many"], 400),
            (["--header", "X-Long: " + String(repeating: "x", count: 40_000)], 431), (["--request", "BREW"], 405),
        ] as [([String], Int)] {
            let series = #"reveille_http_refusals_total{status="\#(status)"}"#
            #expect(try await HTTPAnswer.metric(series, at: metrics) == 0, "\(status)")
            #expect(try await HTTPAnswer.curl(options + ["http://\(address)\(push)"]).status == status)
            #expect(try await HTTPAnswer.metric(series, at: metrics) == 1, "\(status)")
        }
    }

    @Test("a drop names the administrator in the audit trail and at the close")
    func dropped() async throws {
        let (program, address, _) = try await Self.serve()
        let alice = try await world.phone("alice", at: address)
        let bob = try await world.phone("bob", at: address)
        let call = try await alice.connects(to: bob)
        let end = try await Program.reveille("calls", "end", "\(call)", "--data", world.folder)
        #expect(end.ending == .exit(0), "\(end.errors)")
        _ = try await alice.ended(call)
        try await program.errors.first("the end") { $0.contains(#""message":"call ended""#) ? true : nil }
        let audit = try #require(Self.lines(program, "admin call.end").first)
        #expect(audit["uid"] as? Int == Int(getuid()) && audit["result"] as? String == "done")
        #expect(audit["level"] as? String == "notice")
        #expect((audit["params"] as? [String: Any])?["call_id"] as? String == "\(call)")
        let ended = try #require(Self.lines(program, "call ended").first)
        #expect(ended["reason"] as? String == "admin")
        #expect(ended["admin"] as? String == "uid \(getuid()), pid \(try #require(audit["pid"] as? Int))")
    }
}
