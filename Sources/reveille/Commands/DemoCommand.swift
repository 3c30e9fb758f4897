import AdminProtocol
import ArgumentParser
import CallCore
import CallMonitor
import CallServer
import CallVocabulary
import Demo
import EventLoop
import Foundation
import Logging
import PushSimulator
import ServerLog
import StoreInterface

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Demonstrate a call that wakes a sleeping phone, without any setup.",
        discussion: """
            Starts the server, the push simulator and two phones in this process. alice calls bob's sleeping iPhone. \
            The command prints each step, and whether every push is accounted for. Exit code 0: every step happened \
            and the ledger balances.

              reveille demo
              reveille demo --keep
              reveille demo --web

            --web starts the server, the push simulator and bob's sleeping iPhone, and prints the addresses of two pages: \
            from one you call bob, the other shows each step of the call.
            """)

    @Flag(help: "Print one JSON object.") var json = false
    @Option(help: ArgumentHelp("The app on bob's phone. It reads pushes by the rules of its plugin.", valueName: "app"))
    var app = PhoneApp.reveille
    @Flag(help: "Keep the server running after the call, until Ctrl-C.") var keep = false
    @Flag(help: "Let a web page call the sleeping phone, until Ctrl-C.") var web = false
    @Option(help: "The server's port with --web; 0 lets the system choose (default: 7350).") var port: UInt16?
    @Option(
        help: ArgumentHelp("Keep the data in this folder; otherwise it is removed.", valueName: "folder"),
        completion: .directory)
    var data: String?
    @Option(help: "The lowest level logged on standard error.") var logLevel: Logger.Level = .warning

    func validate() throws {
        if web, json || keep { throw ValidationError("--web goes with neither --json nor --keep") }
        if port != nil, !web { throw ValidationError("--port goes with --web") }
    }

    func run() async throws {
        let folder = data ?? NSTemporaryDirectory() + "reveille-demo-\(UUID().uuidString.prefix(8))"
        func clear() { if data == nil { try? FileManager.default.removeItem(atPath: folder) } }
        defer { clear() }
        let report: DemoReport
        try DataFolder(path: folder).prepare()
        let logger = try ServerLog.standardError(level: logLevel).logger("demo")
        if web { return try await runWithPage(folder, logger) }
        if !json { Terminal.print("Starting the server, the push simulator and two phones …") }
        var configuration = DemoCall.Configuration(folder: folder)
        configuration.app = app
        let demo = try await DemoCall.start(configuration, log: logger)
        do {
            report = try await demo.run()
            if keep {
                try show(report)
                try await wait(demo, folder)
            }
        } catch {
            await demo.stop()
            throw error
        }
        await demo.stop()
        // Before anything is printed: nobody may be there to read it, which ends the process.
        clear()
        if !keep { try show(report) }
        guard report.problems.isEmpty else { throw Exit.failed }
    }

    /// The report for programs, in the views of the admin API.
    private struct Outcome: Encodable {
        let call: CallView
        let timeline: [TimelineEntryView]
        let audit: AuditView
        let problems: [String]
        let ok: Bool

        init(_ report: DemoReport) {
            call = CallView(report.call)
            timeline = report.timeline.entries.map { TimelineEntryView($0, since: report.call.createdAt) }
            audit = AuditView(report.audit.counts, violations: report.audit.violations, overdue: [])
            problems = report.problems
            ok = report.problems.isEmpty
        }
    }

    private func show(_ report: DemoReport) throws {
        if json {
            return try JSONOutput.document(Outcome(report))
        }
        let outcome = Outcome(report)
        Terminal.print(["", "\(Terminal.bold("alice calls bob, whose iPhone sleeps"))  call \(report.call.id)"])
        for line in CallStoryText.timeline(
            outcome.timeline, ids: ShortIDs(outcome.timeline.compactMap(\.deviceID))
        ).lines { Terminal.print("  " + line) }
        Terminal.print(["", Terminal.bold("The push ledger")])
        for line in AuditText.lines(outcome.audit) { Terminal.print("  " + line) }
        if let counts = report.phones?.counts {
            Terminal.print(
                "  on the phone's side: delivered \(counts.delivered), reported to iOS \(counts.reported), apps killed \(counts.kills)"
            )
        }
        for problem in report.problems { Terminal.print(Terminal.red("  NOT SO: \(problem)")) }
    }

    private func runWithPage(_ folder: String, _ log: Logger) async throws {
        var configuration = WebDemo.Configuration(folder: folder)
        if let port { configuration.port = port }
        let demo = try await WebDemo.start(configuration, log: log) { Terminal.print("  \($0)") }
        Terminal.print([
            "",
            "Call bob, whose iPhone sleeps: \(Terminal.bold(demo.phonePage))",
            "See each step of the call:     \(demo.boardPage)",
            "His iPhone rings for \(configuration.ringing.wholeMilliseconds / 1000) s. Ctrl-C ends the demo.", "",
        ])
        await Interrupt.wait()
        await demo.stop()
    }

    private func wait(_ demo: DemoCall, _ folder: String) async throws {
        Terminal.complain([
            "The server goes on: ws://\(demo.server.address)/v1/signal",
            "Its data: \(folder). Tokens: reveille token alice --data \(folder). Ctrl-C ends it.",
        ])
        await Interrupt.wait()
    }
}
