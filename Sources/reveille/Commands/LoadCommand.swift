import ArgumentParser
import EventLoop
import Foundation
import LoadTest

struct LoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Put load on a server of its own, and measure it.",
        discussion: """
            Starts `reveille serve` as a child on a free port, with its data in a temporary folder, and stops it at the
            end. One thread makes the load, in a closed loop: figures are those of a machine with both on it.
            Exit code 0 when all went well, 1 when something failed under load, 2 when it could not run.

              reveille load register --sessions 10000
              reveille load relay --calls 50
              reveille load online --calls-at-once 50 --json report.json
            """,
        subcommands: [Register.self, Relay.self, Online.self])

    struct Register: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Open sessions and keep them: sessions a second, memory for each.",
            discussion: "  reveille load register --sessions 1000")

        @Option(help: "How many sessions.") var sessions = 1_000
        @Option(help: "How many are opened at a time.") var concurrency = 200
        @Option(help: "How long they are kept, in seconds.") var hold = 1.0
        @OptionGroup var common: LoadOptions

        func validate() throws {
            try LoadOptions.check("sessions", sessions, 1...100_000)
            try LoadOptions.check("concurrency", concurrency, 1...10_000)
            guard (0...3600).contains(hold) else { throw ValidationError("--hold is 0 to 3600 seconds, not \(hold).") }
        }

        func run() async throws {
            try await LoadRun(options: common).run(
                RegisterScenario(
                    sessions: sessions, concurrency: concurrency, hold: .seconds(hold), shards: common.shards))
        }
    }

    struct Relay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send candidates to and fro in calls that stand: messages a second, latency.",
            discussion: "  reveille load relay")

        @Option(help: "How many calls, of two phones each.") var calls = 50
        @Option(help: "Candidates under way in each call.") var window = 8
        @Option(help: "The measured time, in seconds; a warm-up of up to 1 s comes before it.") var duration = 10.0
        @OptionGroup var common: LoadOptions

        func validate() throws {
            try LoadOptions.check("calls", calls, 1...50_000)
            try LoadOptions.check("window", window, 1...RelayScenario.largestWindow)
            try LoadOptions.check(duration: duration)
        }

        func run() async throws {
            try await LoadRun(options: common).run(
                RelayScenario(calls: calls, window: window, duration: .seconds(duration), shards: common.shards))
        }
    }

    struct Online: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Whole calls between phones that are online: calls a second, latency of each stage.",
            discussion: "  reveille load online")

        @Option(help: "How many pairs of phones call each other, one call after the other.") var callsAtOnce = 50
        @Option(help: "The measured time, in seconds; a warm-up of up to 1 s comes before it.") var duration = 10.0
        @OptionGroup var common: LoadOptions

        func validate() throws {
            try LoadOptions.check("calls-at-once", callsAtOnce, 1...50_000)
            try LoadOptions.check(duration: duration)
        }

        func run() async throws {
            try await LoadRun(options: common).run(
                OnlineScenario(callsAtOnce: callsAtOnce, duration: .seconds(duration), shards: common.shards))
        }
    }
}

/// What all scenarios take.
struct LoadOptions: ParsableArguments {
    @Option(help: "The server's threads that carry connections.") var shards = 1
    @Option(help: ArgumentHelp("Write the report to this file as well, as JSON.", valueName: "file"))
    var json: String?

    func validate() throws {
        try Self.check("shards", shards, 1...64)
        guard let json else { return }
        // Known before the run rather than after it.
        let folder = URL(fileURLWithPath: json).deletingLastPathComponent().path
        guard FileManager.default.isWritableFile(atPath: folder) else {
            throw ValidationError("--json: cannot write into \(folder); name a file in a folder that exists.")
        }
    }

    static func check(_ option: String, _ value: Int, _ range: ClosedRange<Int>) throws {
        guard range.contains(value) else {
            throw ValidationError("--\(option) is \(range.lowerBound) to \(range.upperBound), not \(value).")
        }
    }

    static func check(duration: Double) throws {
        guard (0.1...86_400).contains(duration) else {
            throw ValidationError("--duration is 0.1 to 86400 seconds, not \(duration).")
        }
    }
}

/// One scenario from the start of its server to its report.
private struct LoadRun {
    let options: LoadOptions

    func run(_ scenario: some LoadScenario) async throws {
        let report: LoadReport
        do {
            report = try await measure(scenario)
            LoadText.clearProgress()
            for line in LoadText.lines(report) { print(line) }
            if let file = options.json { try LoadText.json(report).write(to: URL(fileURLWithPath: file)) }
        } catch {
            LoadText.clearProgress()
            throw Terminal.unavailable(error)
        }
        if report.hasFailed { throw Exit.failed }
    }

    private func measure(_ scenario: some LoadScenario) async throws -> LoadReport {
        try scenario.checkDescriptors(limit: DescriptorLimit.raise())
        let server = try await ServerProcess.start(
            executable: URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path,
            shards: scenario.shards, messagesPerSecond: scenario.messagesPerSecond)
        defer { server.removeData() }
        let interrupt = Task {
            await Interrupt.wait()
            guard !Task.isCancelled else { return }
            _ = await server.stop()
            server.removeData()
            LoadText.clearProgress()
            Terminal.complain("reveille: interrupted; there is no report")
            Self.exit(withCode: Exit.unavailable)
        }
        defer { interrupt.cancel() }
        do {
            var report = try await scenario.run(on: server, progress: LoadText.progress)
            if let problem = await server.stop() { report.failures[problem] = 1 }
            report.violations += try server.audit()
            return report
        } catch {
            guard let problem = await server.stop() else { throw error }
            // A server that dies under load is what the test has found out.
            LoadText.clearProgress()
            Terminal.complain("reveille: \(problem)")
            throw Exit.failed
        }
    }

    private static func exit(withCode code: ExitCode) -> Never { Foundation.exit(code.rawValue) }
}
