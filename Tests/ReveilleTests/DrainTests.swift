import AdminProtocol
import CallVocabulary
import Testing

@testable import reveille

@Suite("Draining a server")
struct DrainTests {
    private static func changed(_ live: [CallState: Int]) -> StatsChanged {
        StatsChanged(subscription: 1, stats: .sample(live: live, isDraining: true))
    }

    /// A server with these calls, picture after picture, that ends when it is told to stop.
    private static func script(_ pictures: [[CallState: Int]]) -> ScriptedServer.Script {
        { request in
            switch request {
            case is SubscribeToStats: .stream(pictures.map(changed))
            case is StopServer: .last(Done())
            default: .result(Done())
            }
        }
    }

    @Test("it waits until no call is live in two pictures, then stops the server and sees it go")
    func whole() async throws {
        try await ScriptedServer.run(
            Self.script([[.connected: 2], [:], [.ringing: 1], [.ringing: 0], [:]])
        ) { server in
            let run = await server.command("drain --timeout 30m")
            #expect(run.exit == 0, "\(run.complaints)")
            #expect(run.output == ["no call is live; the server has stopped"])
            #expect(
                run.complaints.prefix(2) == [
                    "the server at \(server.socket) takes no new calls", "2 calls (2 connected) live",
                ])
            #expect(server.asked.first as? Drain == Drain(deadlineMilliseconds: 1_800_000))
            #expect(server.asked.last is StopServer)
        }
    }

    @Test("with --no-stop it leaves the server as it is")
    func noStop() async throws {
        try await ScriptedServer.run(Self.script([[:], [:]])) { server in
            let run = await server.command("drain --no-stop")
            #expect(run.exit == 0)
            #expect(run.output == ["no call is live; the server drains on"])
            #expect(!server.asked.contains { $0 is StopServer })
        }
    }

    @Test("when the time is up it says what is live, that the server still drains, and stops nothing")
    func timeIsUp() async throws {
        for pictures in [[[CallState.ringing: 1, .connected: 2]], [[:]]] {
            try await ScriptedServer.run(Self.script(pictures)) { server in
                let run = await server.command("drain --timeout 1s")
                #expect(run.exit == 1)
                let left = pictures == [[:]] ? "0 calls" : "3 calls (1 ringing, 2 connected)"
                #expect(run.complaints.last == "reveille: the time is up and the server still drains; \(left) live")
                #expect(!server.asked.contains { $0 is StopServer })
            }
        }
    }

    @Test("a server that goes away meanwhile is 2, with the calls that were left")
    func goesAway() async throws {
        let script: ScriptedServer.Script = { request in
            request is SubscribeToStats ? .last(SubscriptionStarted(subscription: 1)) : .result(Done())
        }
        let run = try await ScriptedServer.run(script) { await $0.command("drain") }
        #expect(run.exit == 2)
        #expect(run.complaints.last?.contains("went away while it drained") == true)
    }
}
