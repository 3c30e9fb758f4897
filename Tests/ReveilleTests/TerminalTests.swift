import AdminProtocol
import CallVocabulary
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
    /// - Returns: the exit code.
    private func run(
        _ line: String, environment: [String: String] = [:], dialogue: [String]
    ) async throws -> (exit: Int32, trouble: String) {
        let (terminal, errors) = (Process(), Pipe())
        terminal.executableURL = URL(filePath: "/usr/bin/python3")
        terminal.arguments =
            [Self.script, "20", Self.executable] + line.split(separator: " ").map(String.init) + ["--"] + dialogue
        var variables = ProcessInfo.processInfo.environment
        variables["COLUMNS"] = nil
        variables["NO_COLOR"] = nil
        variables["TERM"] = "xterm"
        terminal.environment = variables.merging(environment) { $1 }
        terminal.standardOutput = FileHandle.nullDevice
        terminal.standardError = errors
        let exit = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Int32, any Error>) in
            terminal.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try terminal.run() } catch { continuation.resume(throwing: error) }
        }
        return (exit, String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self))
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
            let (exit, trouble) = try await run(
                "calls end 1c2d --server \(server.socket)", dialogue: ["alice → bob", answer])
            #expect(trouble.isEmpty)
            #expect(exit == (isEnded ? 0 : 1))
            #expect(server.asked.count { $0 is EndCall } == (isEnded ? 1 : 0))
            let (unasked, _) = try await run("calls end 1c2d --yes --server \(server.socket)", dialogue: ["ended", ""])
            #expect(unasked == 0)
        }
    }

    @Test("Ctrl-C leaves a drain, which goes on, with exit code 1")
    func interrupt() async throws {
        let picture = StatsChanged(subscription: 1, stats: .sample(isDraining: true))
        let script: ScriptedServer.Script = { $0 is SubscribeToStats ? .stream([picture]) : .result(Done()) }
        try await ScriptedServer.run(script) { server in
            let (exit, trouble) = try await run(
                "drain --server \(server.socket)",
                dialogue: [
                    "3 calls (1 ringing, 2 connected) live", "\u{3}", "given up, and the server still drains", "",
                ])
            #expect(trouble.isEmpty)
            #expect(exit == 1)
            #expect(!server.asked.contains { $0 is StopServer })
        }
    }

    @Test("tables are cut to the terminal and coloured, unless NO_COLOR or a dumb terminal say not to")
    func colour() async throws {
        let folder = try Scenarios.Folder()
        let line = "calls list --data \(folder.path)"
        let red = "\u{1B}[31mconnect_timeout\u{1B}[0m"
        #expect(try await run(line, dialogue: ["\u{1B}[1mCALL\u{1B}[0m", "", "9eafb0c2", "", red, ""]).exit == 0)
        for environment in [["NO_COLOR": "1"], ["TERM": "dumb"]] {
            let plain = [
                "CALL      FROM          TO         STATE", "", "9eafb0c2  alice", "", "connect_timeout  20", "",
            ]
            #expect(try await run(line, environment: environment, dialogue: plain).exit == 0)
        }
        let whole = ["9eafb0c2-6f2a-4d0b-9e55-3a1f8a1c2d3e", ""]
        #expect(try await run(line, environment: ["COLUMNS": "200"], dialogue: whole).exit == 0)
    }
}
