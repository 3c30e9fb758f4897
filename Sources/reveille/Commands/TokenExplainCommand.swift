import ArgumentParser
import CallServer
import ClientTokens
import ServerSettings

extension TokenCommand {
    struct Explain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Explain why a server accepts or refuses a client token.",
            discussion: """
                Verifies the token as `reveille serve` with these options would; the server need not run. The claims \
                are shown even if the signature is wrong. Exit code 0: the token is accepted; 1: it is refused. With - \
                the command reads the token from standard input, which keeps it out of the shell's history.

                  reveille token explain eyJhbGciOi…
                  reveille token explain - --config /etc/reveille/reveille.yaml
                """)

        @Argument(help: ArgumentHelp("The token (JWT), or - for standard input.", valueName: "jwt")) var token: String
        @Option(help: OutputFormat.help) var output = OutputFormat.table
        @OptionGroup var options: ServeOptions

        func run() async throws {
            let loaded = try options.settings.load()
            let settings = try Terminal.tokenSettings(of: loaded)
            let text = token == "-" ? readLine() ?? "" : token
            let inspection = try await TokenInspection(text, settings: settings)
            try output.write(TokenText.json(inspection), text: TokenText.lines(inspection))
            guard case .success = inspection.explanation.verdict else { throw Exit.failed }
        }
    }
}
