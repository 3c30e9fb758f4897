import AdminProtocol
import ArgumentParser

struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show figures of the running server: calls, sessions, latencies, pushes, store.",
        discussion: """
              reveille stats
              reveille stats --output json
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await Terminal.reporting {
            let stats = try await Administration.ask(GetStats(), of: server)
            try output.format.write(nil, stats, text: StatsText.lines)
        }
    }
}
