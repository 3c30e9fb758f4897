import CallCore
import CallServer
import CallStore
import CallVocabulary
import PushClient
import PushCore
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession
import Testing

@Suite("HTTP on the clients' port", .world)
struct HTTPTests {
    @Test("healthz and readyz report a healthy server, and metrics count the call")
    func figures() async throws {
        let server = try await world.startServer()
        #expect(try await curl(server, "/healthz") == "200 text/plain; charset=utf-8\nok")
        #expect(try await curl(server, "/readyz") == "200 text/plain; charset=utf-8\nready")
        let (alice, bob, call) = try await world.liveCall(at: server.address)
        #expect(try await curl(server, "/metrics").contains("\nreveille_calls_live 1\n"))
        try await alice.hangUp(call)
        _ = try await bob.ended(call)

        let metrics = try await curl(server, "/metrics")
        #expect(metrics.hasPrefix("200 text/plain; version=0.0.4"))
        let lines = Set(metrics.split(separator: "\n"))
        for line in [
            #"reveille_calls_ended_total{reason="hangup"} 1"#, #"reveille_calls_ended_total{reason="cancelled"} 0"#,
            "reveille_calls_live 0", "reveille_calls_invited_total 1", "reveille_calls_answered_total 1",
            "reveille_calls_connected_total 1", "reveille_sessions_online 2", "reveille_ledger_violations 0",
            "reveille_pushes_intended_total 0",
        ] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
    }

    @Test("readyz fails with the reason while the server drains: new calls are refused, live ones continue")
    func draining() async throws {
        let server = try await world.startServer()
        let (alice, bob, call) = try await world.liveCall(at: server.address)
        #expect(try await curl(server, "/readyz") == "200 text/plain; charset=utf-8\nready")
        server.drain(within: .seconds(60))
        let red = "503 text/plain; charset=utf-8\ndraining: this server takes no new calls"
        #expect(try await curl(server, "/readyz") == red)
        #expect(try await curl(server, "/metrics").contains("\nreveille_draining 1\n"))
        #expect(try await curl(server, "/healthz").hasPrefix("200 "))
        // A proxy that left for this would end the calls that the drain waits for.
        #expect(try await curl(server, "/homez") == "200 text/plain; charset=utf-8\nhome")
        await #expect(throws: SoftphoneError.self) { try await bob.softphone.call(.user("carol")) }
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
        #expect(try world.reader().calls().map(\.id) == [call])
    }

    @Test("readyz fails with the reason while APNs refuses the credential, and recovers with it")
    func credentialRefused() async throws {
        let (simulator, server) = try await world.startPushing()
        let bob = try await world.sleepingPhone("bob", at: server.address)
        let alice = try await world.onlinePhone("alice", at: server.address)
        #expect(try await curl(server, "/readyz").hasPrefix("200 "))
        await simulator.inject(PushFault(.refuse(.invalidProviderToken)))
        // Each push is tried twice; only the third refused push is reported.
        for _ in 1...3 {
            let lost = try await alice.softphone.call(.user("bob"))
            #expect(try await alice.ended(lost).reason == .noDevices)
        }
        let red = try await curl(server, "/readyz")
        #expect(
            red.hasPrefix(
                "503 text/plain; charset=utf-8\npush: APNs production has refused the credential "))
        #expect(red.hasSuffix(" times in a row (InvalidProviderToken): check key id, team id and key"))
        func failures() async throws -> Int? {
            try await curl(server, "/metrics").split(separator: "\n").first {
                $0.hasPrefix(#"reveille_push_credential_failures{provider="apns",environment="production","#)
            }.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) }
        }
        #expect(try #require(await failures()) >= 3)

        await simulator.clearFaults()
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await bob.woken().call == call)
        _ = try await eventually("readyz is green") {
            try await curl(server, "/readyz") == "200 text/plain; charset=utf-8\nready" ? true : nil
        }
        #expect(try await failures() == 0)
    }

    @Test("ignored notifications are counted, by reason")
    func unheard() async throws {
        let server = try await world.startServer {
            $0.connectionLimits.messagesPerSecond = 0.2
            $0.connectionLimits.burst = 20
        }
        let zero = try await curl(server, "/metrics")
        for reason in ["rate_limited", "overloaded", "unauthenticated"] {
            #expect(zero.contains("\nreveille_notifications_dropped_total{reason=\"\(reason)\"} 0\n"))
        }
        try await Program.script(
            "bad_input.py", "ws://\(server.address)", "unheard", try await world.token("alice"))
        // Of 65 messages 20 are accepted, three of them too early, and a few more as time passes.
        let metrics = try await curl(server, "/metrics")
        #expect(metrics.contains("\nreveille_notifications_dropped_total{reason=\"unauthenticated\"} 3\n"))
        let line = try #require(
            metrics.split(separator: "\n").first {
                $0.hasPrefix("reveille_notifications_dropped_total{reason=\"rate_limited\"}")
            })
        let dropped = try #require(line.split(separator: " ").last.flatMap { Int($0) })
        #expect((40...44).contains(dropped), "\(dropped)")
    }

    @Test("an unknown path is 404, a method other than GET is 405, and the signaling path requires a WebSocket")
    func refusals() async throws {
        let server = try await world.startServer()
        #expect(try await curl(server, "/nowhere").hasPrefix("404 "))
        #expect(try await curl(server, "/healthz", "-X", "POST", "-d", "x").hasPrefix("405 "))
        #expect(try await curl(server, "/metrics", "-X", "DELETE").hasPrefix("405 "))
        #expect(try await curl(server, "/v1/signal").hasPrefix("4"))
        #expect(try await curl(server, "/").hasPrefix("200 "))
        #expect(try await curl(server, "/healthz") == "200 text/plain; charset=utf-8\nok")
    }

    /// - Returns: status and content type, then the body.
    private func curl(_ server: CallServer, _ path: String, _ options: String...) async throws -> String {
        let answer = try await HTTPAnswer.curl(options + ["http://\(HTTPAnswer.place(server, path))\(path)"])
        return "\(answer.status) \(answer.headers["content-type"] ?? "")\n\(answer.body)"
    }
}
