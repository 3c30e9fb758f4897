import ArgumentParser
import CallServer
import ServerSettings
import StoreInterface

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Check the server's configuration, and show the effective settings.",
        discussion: """
            Reads options, environment and configuration file as `reveille serve` does. Exit code 0: the server would \
            start with this configuration; 1: it would not; 2: the file cannot be read.

              reveille config check --config /etc/reveille/reveille.yaml
              reveille config show
              reveille config reference > reveille.yaml
            """, subcommands: [Check.self, Show.self, Reference.self])

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List every fault of the configuration.",
            discussion: """
                With a PostgreSQL store it also connects, and warns of settings of the database that may lose acknowledged \
                commits. A database that does not answer is a warning; one that refuses the server is a fault.

                  reveille config check
                  reveille config check --config /etc/reveille/reveille.yaml
                """)

        @OptionGroup var options: ServeOptions

        func run() async throws {
            let loaded = try options.settings.load()
            ConfigCommand.complain(loaded)
            guard loaded.errors.isEmpty else { throw Exit.failed }
            let warnings = loaded.warnings.count + (try Self.checkDatabase(of: loaded))
            let place = loaded.path ?? "no configuration file; the environment and the defaults"
            switch warnings {
            case 0: Terminal.print("\(place): fine")
            case 1: Terminal.print("\(place): no fault, one warning")
            default: Terminal.print("\(place): no fault, \(warnings) warnings")
            }
        }

        /// Warns of what may lose acknowledged commits. A database that is away is no fault of the configuration.
        /// - Returns: the number of warnings.
        private static func checkDatabase(of loaded: LoadedSettings) throws -> Int {
            guard let database = try loaded.serverConfiguration().database else { return 0 }
            do throws(StoreFailure) {
                let warnings = try RealmControl(database).warnings()
                for warning in warnings { Terminal.complain("warning: the database: \(warning)") }
                return warnings.count
            } catch {
                let isPassing = [.unreachable, .tooManyConnections, .noSynchronousStandby, .cannotWrite].contains(
                    error.reason)
                guard isPassing else {
                    Terminal.complain("the database: \(error)")
                    throw Exit.failed
                }
                Terminal.complain("warning: the database: not checked: \(error)")
                return 1
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the effective value of each setting, and where it comes from.",
            discussion: """
                  reveille config show
                  reveille config show --config /etc/reveille/reveille.yaml --output json
                """)

        @Option(help: OutputFormat.help) var output = OutputFormat.table
        @OptionGroup var options: ServeOptions

        func run() async throws {
            let loaded = try options.settings.load()
            try output.write(SettingsOutput.json(loaded), text: SettingsOutput.table(loaded).lines)
            ConfigCommand.complain(loaded)
            guard loaded.errors.isEmpty else { throw Exit.failed }
        }
    }

    struct Reference: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a configuration file with every setting in it, commented out.",
            discussion: """
                  reveille config reference > /etc/reveille/reveille.yaml
                """)

        func run() {
            Terminal.print(
                SettingsReference.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(
                    String.init))
        }
    }

    private static func complain(_ loaded: LoadedSettings) {
        for fault in loaded.faults { Terminal.complain((fault.isWarning ? "warning: " : "") + fault.description) }
    }
}
