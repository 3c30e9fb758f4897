import Foundation
import LoadTest
import TestCleanup
import Testing

@testable import reveille

@Suite("reveille load, started from a shell", .world, .serialized, .timeLimit(.minutes(2)))
struct LoadCommandTests {
    /// A run with its own folder for results, and one for temporary files.
    private struct Run {
        let json: String
        let html: String
        let temporary: String

        init() throws {
            (json, html, temporary) = (world.folder + "/r.json", world.folder + "/r.html", world.folder + "/t")
            try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
        }

        func start(_ arguments: [String]) throws -> Program {
            try world.start(
                Program.reveille, ["load"] + arguments + ["--json", json, "--html", html],
                environment: ["TMPDIR": temporary])
        }

        /// Starts a load that a test must end; its children end with the test.
        func startLong() throws -> Program {
            let program = try start(["online", "--concurrency", "2", "--duration", "60", "--warmup", "0"])
            atEnd { for child in processes { kill(child, SIGKILL) } }
            return program
        }

        /// Whether the files of its server are removed.
        var isTidy: Bool {
            get throws { try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty }
        }

        /// The processes whose data is in its folder.
        var processes: [pid_t] {
            let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return all.compactMap { pid_t($0) }.filter { process in
                let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
                return line.split(separator: 0).contains {
                    String(decoding: $0, as: UTF8.self).hasPrefix(temporary + "/")
                }
            }
        }

        /// Waits until this many of them run.
        func children(_ count: Int) async throws -> [pid_t] {
            let deadline = ContinuousClock.now + .seconds(40)
            while processes.count != count {
                guard ContinuousClock.now < deadline else { throw InVain(what: "\(count) processes of the run") }
                try await Task.sleep(for: .milliseconds(20))
            }
            return processes
        }

        var report: JSONObject {
            get throws { try JSONObject(String(contentsOfFile: json, encoding: .utf8)) }
        }

        func count(ofStage key: String) throws -> Int {
            let stages = try report["stages"] as? [String: [String: Any]]
            return stages?[key]?["count"] as? Int ?? 0
        }
    }

    @Test("a closed loop on its own server: 0, both reports, and no files left behind")
    func closed() async throws {
        let run = try Run()
        let program = try run.start(["online", "--concurrency", "2", "--duration", "1", "--warmup", "100ms"])
        let result = try await program.result()
        #expect(result.ending == .exit(0), "\(result.output) \(result.errors)")
        #expect(result.errors.isEmpty)
        #expect(result.output.contains("\ninvite → result "))
        #expect(try run.report["passed"] as? Bool == true)
        #expect(try run.report["interrupted"] as? Bool == false)
        #expect(try run.count(ofStage: "answer_connected") > 0)
        let figures = try #require(try run.report["figures"] as? [String: Any])
        #expect(figures.keys.contains("server_cpu_per_piece"))
        #expect(figures.keys.filter { LoadFigure.kind(of: $0) == nil } == [], "the manual does not have them")
        let page = try String(contentsOfFile: run.html, encoding: .utf8)
        #expect(page.contains("answer_connected") && page.hasSuffix("</html>\n"))
        #expect(try run.isTidy)
    }

    /// A running server, and the options that name it.
    private static func server() async throws -> (program: Program, target: [String]) {
        let (program, address) = try await world.serve()
        return (program, ["--target", "ws://\(address)", "--secret-file", world.folder + "/client-token.key"])
    }

    @Test("an open loop on a running server, which continues after it")
    func elsewhere() async throws {
        let (server, target) = try await Self.server()
        let run = try Run()
        let program = try run.start(["online", "--rate", "20", "--duration", "1", "--warmup", "0"] + target)
        let result = try await program.result()
        #expect(result.ending == .exit(0), "\(result.output) \(result.errors)")
        #expect(try run.count(ofStage: "hangup_ended") > 5)
        #expect(result.output.contains("Open loop: 20 operations were due per second"))
        let list = try await world.output("calls list --limit 5")
        #expect(list.contains("hangup"))
        #expect(try await server.end(by: SIGTERM) == .exit(0))
    }

    @Test("a server that dies during the run is a failure: 1, with a report")
    func deadServer() async throws {
        let (server, target) = try await Self.server()
        let run = try Run()
        let program = try run.start(["online", "--concurrency", "2", "--duration", "2", "--warmup", "0"] + target)
        _ = try await server.errors.first("a call is placed") { $0.contains("call_id") ? true : nil }
        server.send(SIGKILL)
        let result = try await program.result(within: .seconds(60))
        #expect(result.ending == .exit(1), "\(result.output) \(result.errors)")
        #expect(result.output.contains("\nFAILED: "))
        #expect(result.output.contains("\nThe run failed: "))
        #expect(try run.report["passed"] as? Bool == false)
        #expect(try (run.report["failures"] as? [String: Int])?.isEmpty == false)
    }

    @Test("SIGINT ends it with a report of the completed part: 130")
    func interrupted() async throws {
        let (server, target) = try await Self.server()
        let run = try Run()
        let program = try run.start(["online", "--concurrency", "2", "--duration", "60", "--warmup", "0"] + target)
        _ = try await server.errors.first("a call is over") { $0.contains("hangup") ? true : nil }
        program.send(SIGINT)
        let result = try await program.result()
        #expect(result.ending == .exit(130), "\(result.output) \(result.errors)")
        #expect(result.output.contains("\ninvite → result "))
        #expect(result.errors == "reveille: stopping; once more ends it at once")
        #expect(try run.report["interrupted"] as? Bool == true)
        #expect(try run.report["passed"] as? Bool == false)
    }

    @Test("a second SIGINT, some time later, ends it and its children at once: 130")
    func interruptedAgain() async throws {
        let run = try Run()
        let program = try run.startLong()
        let server = try await run.children(1)
        // Stopped servers do not end: the run waits for them for 20 s.
        for child in server { kill(child, SIGSTOP) }
        program.send(SIGINT)
        _ = try await program.errors.first("it stops") { $0.contains("once more ends it at once") ? true : nil }
        let asked = ContinuousClock.now
        var ending: Program.Ending?
        while ending == nil, asked.duration(to: .now) < .seconds(15) {
            program.send(SIGINT)
            ending = try? await program.ending(within: .milliseconds(50))
        }
        #expect(ending == .exit(130))
        #expect(asked.duration(to: .now) > .milliseconds(300), "those that come with the first are part of it")
        #expect(try await program.result().output.isEmpty)
        _ = try await run.children(0)
        #expect(try run.isTidy)
    }

    @Test("SIGHUP, the end of its terminal, does the same: 129")
    func hungUp() async throws {
        let run = try Run()
        let program = try run.startLong()
        _ = try await run.children(1)
        program.send(SIGHUP)
        let result = try await program.result()
        #expect(result.ending == .exit(129), "\(result.output) \(result.errors)")
        #expect(try run.isTidy)
        #expect(run.processes.isEmpty)
    }

    @Test("when killed, its server and its push simulator end too")
    func killed() async throws {
        let run = try Run()
        let program = try run.start(["wake", "--concurrency", "2", "--duration", "60"])
        atEnd { for child in run.processes { kill(child, SIGKILL) } }
        _ = try await run.children(2)
        #expect(try await program.end(by: SIGKILL) == .signal(SIGKILL))
        _ = try await run.children(0)
    }

    @Test("a server that is missing, or refuses the tokens, cannot be tested: 2, with the reason")
    func impossible() async throws {
        let (_, target) = try await Self.server()
        let run = try Run()
        let wrong = run.temporary + "/wrong.key"
        try Data(String(repeating: "ab", count: 32).utf8).write(to: URL(filePath: wrong))
        for arguments in [
            ["--target", "ws://127.0.0.1:1", "--secret-file", wrong],
            [target[0], target[1], "--secret-file", wrong],
        ] {
            let program = try run.start(["online", "--concurrency", "1", "--duration", "1"] + arguments)
            let result = try await program.result(within: .seconds(60))
            #expect(result.ending == .exit(2), "\(result.output) \(result.errors)")
            #expect(result.output.isEmpty)
            #expect(result.errors.hasPrefix("reveille: "))
            #expect(!FileManager.default.fileExists(atPath: run.json))
        }
    }
}
