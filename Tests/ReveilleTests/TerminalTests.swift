import AdminProtocol
import CallVocabulary
import ChildProcess
import Foundation
import Testing

@testable import reveille

/// The executable on a terminal, with somebody at the keyboard.
@Suite("Commands on a terminal", .serialized)
struct TerminalTests {
    private static let executable = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "reveille").path
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "IntegrationTests/Scripts/terminal.py").path

    /// - Parameter dialogue: what is waited for, and what is typed then, in turn.
    private func run(
        _ line: String, environment: [String: String] = [:], dialogue: [String]
    ) async throws -> (ending: ChildProcess.Ending, trouble: String) {
        let words = [Self.script, "20", Self.executable] + line.split(separator: " ").map(String.init)
        var variables: [String: String?] = ["COLUMNS": nil, "NO_COLOR": nil, "TERM": "xterm"]
        variables.merge(environment) { $1 }
        let result = try await ChildProcess.run(
            "/usr/bin/python3", words + ["--"] + dialogue, environment: variables, areErrorsApart: true)
        return (result.ending, result.errors)
    }

    private static let call = CallView(
        callID: Scenarios.id(0x1C2D_3E4F), state: .connected, from: Scenarios.handle("alice"),
        to: TargetView(.user(Scenarios.handle("bob"))), video: false, createdAt: Timestamp(Scenarios.begin),
        ringsUntil: Timestamp(Scenarios.begin))

    @Test("calls end shows the call and asks, and takes only a yes for one", arguments: [("y", true), ("", false)])
    func confirmation(answer: String, isEnded: Bool) async throws {
        let script: ScriptedServer.Script = {
            $0 is ListCalls ? .result(AdminPage(items: [Self.call])) : .result(Done())
        }
        try await ScriptedServer.run(script) { server in
            let (ending, trouble) = try await run(
                "calls end 1c2d --server \(server.socket)", dialogue: ["alice → bob", answer])
            #expect(trouble.isEmpty)
            #expect(ending == .exit(isEnded ? 0 : 1))
            #expect(server.asked.count { $0 is EndCall } == (isEnded ? 1 : 0))
            let (unasked, _) = try await run("calls end 1c2d --yes --server \(server.socket)", dialogue: ["ended", ""])
            #expect(unasked == .exit(0))
        }
    }

    @Test("Ctrl-C leaves a drain, which goes on, with exit code 1")
    func interrupt() async throws {
        let picture = StatsChanged(subscription: 1, stats: .sample(isDraining: true))
        let script: ScriptedServer.Script = { $0 is SubscribeToStats ? .stream([picture]) : .result(Done()) }
        try await ScriptedServer.run(script) { server in
            let (ending, trouble) = try await run(
                "drain --server \(server.socket)",
                dialogue: [
                    "3 calls (1 ringing, 2 connected) live", "\u{3}", "given up, and the server still drains", "",
                ])
            #expect(trouble.isEmpty)
            #expect(ending == .exit(1))
            #expect(!server.asked.contains { $0 is StopServer })
        }
    }

    @Test(
        "Ctrl-C ends a load test with the report of what was done so far: 130; nothing of its own stays behind",
        .timeLimit(.minutes(5)))
    func interruptedLoad() async throws {
        let folder = try EmptyFolder()
        let (ending, trouble) = try await run(
            "load online --concurrency 2 --warmup 0 --duration 60", environment: ["TMPDIR": folder.path],
            dialogue: [
                "measuring", "\u{3}", "stopping; once more ends it at once", "",
                "The run was interrupted; nothing had failed so far,", "", "invite → result", "",
            ])
        #expect(trouble.isEmpty)
        #expect(ending == .exit(130))
        #expect(try folder.contents == [])
    }

    @Test("a second Ctrl-C right behind the first is none: the report comes all the same", .timeLimit(.minutes(5)))
    func interruptedTwice() async throws {
        let (ending, trouble) = try await run(
            "load online --concurrency 2 --warmup 0 --duration 60",
            dialogue: ["measuring", "\u{3}", "once more ends it at once", "\u{3}", "The run was interrupted", ""])
        #expect(trouble.isEmpty)
        #expect(ending == .exit(130))
    }

    @Test("the progress of a load test is one line, which is gone in the end", .timeLimit(.minutes(5)))
    func loadProgress() async throws {
        let (ending, trouble) = try await run(
            "load online --concurrency 1 --warmup 0 --duration 1500ms",
            dialogue: ["\r\u{1B}[Kmeasuring ", "", "auditing\r\u{1B}[K", "", "the audit found no violation", ""])
        #expect(trouble.isEmpty)
        #expect(ending == .exit(0))
    }

    @Test("tables are cut to the terminal and coloured, unless NO_COLOR or a dumb terminal say not to")
    func colour() async throws {
        let folder = try Scenarios.Folder()
        let line = "calls list --data \(folder.path)"
        let red = "\u{1B}[31mconnect_timeout\u{1B}[0m"
        #expect(
            try await run(line, dialogue: ["\u{1B}[1mCALL\u{1B}[0m", "", "9eafb0c2", "", red, ""]).ending == .exit(0))
        for environment in [["NO_COLOR": "1"], ["TERM": "dumb"]] {
            let plain = [
                "CALL      FROM          TO         STATE", "", "9eafb0c2  alice", "", "connect_timeout  20", "",
            ]
            #expect(try await run(line, environment: environment, dialogue: plain).ending == .exit(0))
        }
        let whole = ["9eafb0c2-6f2a-4d0b-9e55-3a1f8a1c2d3e", ""]
        #expect(try await run(line, environment: ["COLUMNS": "200"], dialogue: whole).ending == .exit(0))
    }
}
