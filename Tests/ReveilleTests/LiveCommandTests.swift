import AdminProtocol
import ArgumentParser
import CallVocabulary
import Foundation
import Testing

@testable import reveille

@Suite("Commands on a running server")
struct LiveCommandTests {
    private static func session(_ device: UInt64, state: SessionView.State = .online) -> SessionView {
        SessionView(
            user: Scenarios.handle("bob"), deviceID: Scenarios.id(device), platform: .ios, app: "org.example.phone 4.2",
            state: state, address: state == .online ? "192.0.2.7:4711" : nil,
            wakeCallID: state == .away ? Scenarios.id(0x0B9C_8E4E) : nil,
            openedAt: Timestamp(Scenarios.begin),
            since: Timestamp(Scenarios.begin + .seconds(3000)))
    }

    private static func call(_ digits: UInt64) -> CallView {
        CallView(
            callID: Scenarios.id(digits), state: .connected, from: Scenarios.handle("alice"),
            to: TargetView(.user(Scenarios.handle("bob"))), video: false, createdAt: Timestamp(Scenarios.begin),
            ringsUntil: Timestamp(Scenarios.begin + .seconds(45)))
    }

    private static let script: ScriptedServer.Script = { request in
        switch request {
        case let list as ListSessions where list.user == nil || list.user == Scenarios.handle("bob"):
            .result(AdminPage(items: [session(0xB0B0_0001), session(0xB0B0_0002, state: .away)]))
        case is ListSessions: .result(AdminPage<SessionView>(items: []))
        case is ListCalls: .result(AdminPage(items: [call(0x0B9C_8E4E), call(0x0B9C_8E4F), call(0x1C2D_3E4F)]))
        case is GetStats: .result(StatsView.sample())
        case let set as SetLogLevel: .result(LogLevelView(level: set.level ?? "info"))
        default: .result(Done())
        }
    }

    private func run(_ line: String, width: Int? = nil) async throws -> (run: CommandRun, asked: [any AdminRequest]) {
        try await ScriptedServer.run(Self.script) { server in (await server.command(line, width: width), server.asked) }
    }

    @Test("sessions are listed, in each form", arguments: [80, 120])
    func sessions(width: Int) async throws {
        try Recording.expect(try await run("sessions list", width: width).run.output, as: "sessions-list-\(width).txt")
        try Recording.expect(try await run("sessions list --output json").run.output, as: "sessions-list.json")
        let cut = try await run("sessions list --limit 1 --output jsonl").run
        #expect(cut.output.count == 1)
        #expect(cut.complaints == ["1 shown; there are more: --limit 10"])
    }

    @Test("figures are shown in sections, and whole in JSON")
    func stats() async throws {
        try Recording.expect(try await run("stats", width: 80).run.output, as: "stats.txt")
        try Recording.expect(try await run("stats --output json").run.output, as: "stats.json")
    }

    @Test("a session is dropped by its device, by the beginning of its id, or all of a user's")
    func drop() async throws {
        let device: DeviceID = Scenarios.id(0xB0B0_0002)
        for line in ["sessions drop bob \(device)", "sessions drop bob b0b00002"] {
            let (run, asked) = try await run(line)
            #expect(run.exit == 0)
            #expect(run.output == ["session of bob/b0b00002 dropped"])
            #expect(asked.last as? DropSession == DropSession(user: Scenarios.handle("bob"), deviceID: device))
        }
        let all = try await run("sessions drop bob --all")
        #expect(all.run.output.count == 2)
        #expect(all.asked.count { $0 is DropSession } == 2)
        let several = try await run("sessions drop bob")
        #expect(several.run.exit == 1)
        #expect(several.run.complaints.count == 3)
        #expect(!several.asked.contains { $0 is DropSession })
        let none = try await run("sessions drop carol")
        #expect(none.run.exit == 1)
        #expect(none.run.complaints == ["reveille: carol has no session; see reveille sessions list"])
    }

    @Test(
        "a change for a user without a device is made, and says so: the name may be mistyped",
        arguments: [
            "users set bob --do-not-disturb on", "users block bob mallory", "users forward bob --busy carol",
            "users revoke bob", "aliases set desk bob",
        ])
    func userWithoutDevice(line: String) async throws {
        for devices in [nil, 0, 1] as [Int?] {
            let script: ScriptedServer.Script = { request in
                guard request is GetUser else { return .result(Done()) }
                guard let devices else { return .refused(AdminRefusal(.notFound, "Nobody has registered as bob.")) }
                return .result(
                    UserView(
                        UserSummary(
                            handle: Scenarios.handle("bob"), policy: UserPolicy(), aliases: [], groups: [],
                            devices: devices, devicesOnline: 0, liveCalls: 0)))
            }
            let run = try await ScriptedServer.run(script) { await $0.command(line) }
            #expect(run.exit == 0 && run.output.count == 1, "\(run)")
            let note = "bob has no device yet; check the name, or expect the first one"
            #expect(run.complaints == (devices == 1 ? [] : [note]), "\(run)")
        }
    }

    @Test("a call is ended by its id or the beginning of it, without a question where nobody can be asked")
    func end() async throws {
        let id: CallID = Scenarios.id(0x1C2D_3E4F)
        for line in ["calls end \(id)", "calls end 1c2d", "calls end 1c2d --yes"] {
            let (run, asked) = try await run(line)
            #expect(run.exit == 0)
            #expect(run.output == ["call \(id) ended"])
            #expect(asked.last as? EndCall == EndCall(id))
        }
        let several = try await run("calls end 0b9c8e4")
        #expect(several.run.exit == 1)
        #expect(several.run.complaints.count == 3)
        #expect(!several.asked.contains { $0 is EndCall })
    }

    @Test("calls watch --once prints one snapshot, as table, JSON or JSON lines")
    func watchOnce() async throws {
        let calls = [
            Self.call(1, .ringing, from: "alice", age: 3), Self.call(2, .waking, from: "carol", age: 70),
            Self.call(3, .connected, from: "erin", age: 4000),
        ]
        try await ScriptedServer.run({ _ in .result(AdminPage(items: calls)) }) { server in
            let table = await server.command("calls watch --once")
            #expect(table.exit == 0 && table.output.count == 4)
            #expect(table.output.first?.hasPrefix("STATE ") == true)
            #expect(table.output.last?.contains("erin") == true)
            #expect(!table.output.joined().contains("\u{1B}"))
            let json = await server.command("calls watch --once --output json").json as? [String: [[String: Any]]]
            #expect(json?["calls"]?.map { $0["from"] as? String } == ["carol", "alice", "erin"])
            let lines = await server.command("calls watch --once --output jsonl --sort state").output
            let states = try lines.map {
                try (JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])?["state"] as? String
            }
            #expect(states == ["waking", "ringing", "connected"])
            #expect(server.asked.count == 3 && server.asked.allSatisfy { $0 is ListCalls })
        }
    }

    /// - Parameter age: in seconds of the machine's clock, by which the screen sorts.
    private static func call(_ digits: UInt64, _ state: CallState, from: String, age: Int64) -> CallView {
        let created = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000) - age * 1000)
        var call = CallView(
            callID: Scenarios.id(digits), state: state, from: Scenarios.handle(from),
            to: TargetView(.user(Scenarios.handle("bob"))), video: false, createdAt: Timestamp(created),
            ringsUntil: Timestamp(created + .seconds(45)))
        call.counts = CallCounts(devices: 2, ringing: 1, waking: 1, pushes: 1, pushesOpen: 1)
        return call
    }

    @Test("the level of the log is shown, and set")
    func logLevel() async throws {
        #expect(try await run("log level").run.output == ["log level info"])
        let (set, asked) = try await run("log level debug")
        #expect(set.output == ["log level debug"])
        #expect(asked.last as? SetLogLevel == SetLogLevel("debug"))
        #expect(try await run("log level --output jsonl").run.output == [#"{"level":"info"}"#])
    }

    @Test("what is stored is asked of the server that is named, with the filters and in pages")
    func stored() async throws {
        let (run, asked) = try await run("calls list --user bob --since 2026-09-18T00:00:00Z --limit 2 --output jsonl")
        #expect(run.output.count == 2)
        #expect(run.complaints == ["2 shown; there are more: --limit 20"])
        let query = asked.first as? ListCalls
        #expect(query?.user == Scenarios.handle("bob"))
        #expect(query?.sinceMilliseconds == Scenarios.begin.milliseconds)
        let shown = try await self.run("calls show 0b9c8e4f")
        #expect(shown.asked.last as? GetCall == GetCall(Scenarios.id(0x0B9C_8E4F)))
    }

    @Test("without TLS a token goes to an address of this machine only, not to a name that looks like one")
    func plainText() {
        func isTaken(_ url: String) -> Bool {
            (try? AdminAddress(url, token: "0123456789abcdef", source: "--server")) != nil
        }
        for url in ["ws://127.0.0.1:7351", "ws://localhost:7351", "ws://[::1]:7351", "wss://127.example.org"] {
            #expect(isTaken(url), "\(url)")
        }
        for url in ["ws://127.example.org:7351", "ws://127.0.0.1.example.org", "ws://10.0.0.5"] {
            #expect(!isTaken(url), "\(url)")
        }
        let error = #expect(throws: (any Error).self) {
            try AdminAddress("wss://bob:hush@h", token: "0123456789abcdef", source: "--server")
        }
        #expect(error.map { "\($0)" }?.contains("hush") == false)
    }

    @Test("the server is the one of the flag, then of the folder on the line, then of the environment")
    func precedence() throws {
        func words(_ arguments: [String], _ environment: [String: String]) throws -> String? {
            try ServerOptions.parse(arguments).named(environment: environment)?.words
        }
        let environment = ["REVEILLE_SERVER": "/run/a.sock", "REVEILLE_TOKEN": "secret"]
        #expect(try words([], [:]) == nil)
        #expect(try words([], environment) == "at /run/a.sock")
        #expect(try words(["--server", "/run/b.sock"], environment) == "at /run/b.sock")
        #expect(try words(["--data", "/d"], environment) == nil)
        #expect(try words([], ["REVEILLE_SERVER": ""]) == nil)
        let url = ["REVEILLE_SERVER": "wss://calls.example.org:8443", "REVEILLE_TOKEN": "secret"]
        #expect(try words([], url) == "at wss://calls.example.org:8443/")
        guard case .url(_, let token, _, _)? = try ServerOptions.parse(["--token", "mine"]).named(environment: url)
        else {
            Issue.record("not a URL")
            return
        }
        #expect(token == "mine")
    }
}
