import AdminProtocol
import ArgumentParser
import Logging

struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Show or set the log level of the running server.",
        discussion: "  reveille log level debug",
        subcommands: [Level.self])

    struct Level: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the log level, or set it until the server's next start.",
            discussion: """
                Needs a running server.

                  reveille log level
                  reveille log level debug
                """)

        @Argument(help: "trace, debug, info, notice, warning, error or critical. Default: show the level.")
        var level: Logger.Level?
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            let view = try await Administration.ask(SetLogLevel(level?.rawValue), of: server)
            try output.format.write(nil, view) { ["log level \($0.level.shown)"] }
        }
    }
}
