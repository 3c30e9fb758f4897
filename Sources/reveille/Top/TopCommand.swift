import AdminKit
import AdminProtocol
import ArgumentParser
import CallVocabulary
import Foundation
import TerminalScreen

struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show figures of the running server full-screen: calls, latencies, pushes, queues, problems.",
        discussion: """
            Type ? for the keys. While the server cannot be reached, the last state stays on screen.

              reveille top
              reveille top --interval 5s
              reveille top --once --output json
            """)

    @Option(help: ArgumentHelp("The refresh interval: 0.2s to 60s, or in ms as 500ms.", valueName: "time"))
    var interval = IntervalArgument(milliseconds: 1000)
    @Flag(help: "Print the current figures once.") var once = false
    @Option(help: "With --once: table, json or jsonl.") var output = OutputFormat.table
    @Flag(help: "Wait for the server when it is not running.") var wait = false
    @OptionGroup var server: ServerOptions

    /// The width of `--once` when standard output is no terminal.
    private static let standardWidth = 80

    func validate() throws {
        guard (200...60_000).contains(interval.milliseconds) else {
            throw ValidationError("--interval is 0.2s to 60s.")
        }
        guard once || output == .table else { throw ValidationError("--output goes with --once.") }
        guard !once || !wait else { throw ValidationError("--wait does not go with --once.") }
    }

    func run() async throws {
        let address = try server.address()
        if once { return try await printOnce() }
        let traits = try FullScreen.traits("top")
        if !wait { try await ServerCheck.check(server) }
        let inbox = try ScreenInbox<TopEvent>()
        let link = ServerLink(SubscribeToStats(intervalMilliseconds: interval.milliseconds), address: address) {
            inbox.post(.link($0))
        }
        let linking = Task { await link.run() }
        let end = try await FullScreen.run(
            TopProgram(intervalMilliseconds: interval.milliseconds), traits: traits, inbox: inbox
        ) { effect in
            switch effect {
            case .setInterval(let milliseconds):
                link.change(to: SubscribeToStats(intervalMilliseconds: milliseconds))
            }
        }
        linking.cancel()
        await linking.value
        if let refusal = end.refusal { throw AdminProblem(.unreachable, refusal) }
    }

    private func printOnce() async throws {
        let stats = try await Administration.ask(GetStats(), of: server)
        try output.write(nil, stats) { stats in
            let isUnicode = TerminalTraits(environment: ProcessInfo.processInfo.environment)?.isUnicode ?? true
            var buffer = ScreenBuffer(width: Self.standardWidth, height: 100, isUnicode: isUnicode)
            var figures = TopFigures()
            figures.take(stats)
            TopLayout.draw(figures, isUp: true, rows: 0..<100, in: &buffer)
            return buffer.lines
        }
    }
}

/// `1s`, `0.5s`, `500ms`, or seconds without a unit.
struct IntervalArgument: ExpressibleByArgument {
    let milliseconds: Int

    init(milliseconds: Int) { self.milliseconds = milliseconds }

    init?(argument: String) {
        let isMilliseconds = argument.hasSuffix("ms")
        let number = argument.dropLast(isMilliseconds ? 2 : argument.hasSuffix("s") ? 1 : 0)
        guard let value = Double(number), value.isFinite, abs(value) < 1e9 else { return nil }
        milliseconds = Int((isMilliseconds ? value : value * 1000).rounded())
    }

    var defaultValueDescription: String { "\(milliseconds / 1000)s" }
}
