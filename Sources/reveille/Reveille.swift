import ArgumentParser
import EventLoop
import Glibc

@main
struct Reveille: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reveille",
        abstract: "Call routing that wakes sleeping phones, and accounts for every push.",
        discussion: """
            Try it:    reveille demo
            Run it:    reveille push-sim            (simulates APNs, FCM, Web Push)
                       reveille serve --push-sim    (the server)
                       reveille phone bob --asleep  (a phone that a push wakes)
                       reveille phone alice         (then type: call bob)
            Look:      reveille calls list, reveille calls show ID, reveille sessions list, reveille stats
            Check:     reveille pushes audit, reveille check
            Measure:   reveille load online
            Arrange:   reveille groups set sales alice bob, reveille users set alice --do-not-disturb on
            """,
        version: "reveille \(ServeCommand.version)",
        subcommands: [
            DemoCommand.self, ServeCommand.self, TokenCommand.self, PhoneCommand.self, PushSimCommand.self,
            CallsCommand.self, TopCommand.self, PushesCommand.self, SessionsCommand.self, DevicesCommand.self,
            UsersCommand.self, GroupsCommand.self, AliasesCommand.self, WebhooksCommand.self, StatsCommand.self,
            CheckCommand.self,
            DrainCommand.self, LogCommand.self, ConfigCommand.self, BackupCommand.self, RestoreCommand.self,
            StoreCommand.self, ClusterCommand.self, HandoverCommand.self,
            LoadCommand.self, FCMCommand.self, PushTestCommand.self, ManualCommand.self,
        ])

    static func main() async {
        StandardStream.reserve()
        NameLookup.provideThreads()
        // A SIGHUP must not end a server that is about to start. Until `serve` listens for it, it asks for nothing: the
        // settings are read after that.
        if CommandLine.arguments.dropFirst().first == ServeCommand.configuration.commandName { signal(SIGHUP, SIG_IGN) }
        Glibc.exit(await perform(Array(CommandLine.arguments.dropFirst())))
    }

    /// Carries out what `arguments` say.
    /// - Returns: the exit code, everything having been said.
    static func perform(_ arguments: [String]) async -> Int32 {
        if let misuse = Misuse(help: arguments) ?? Misuse(nearly: arguments) {
            Terminal.complain(misuse.lines)
            return ExitCode.validationFailure.rawValue
        }
        do {
            let parsed = try await asyncParseAsRoot(arguments)
            try await Terminal.reporting {
                if var command = parsed as? any AsyncParsableCommand {
                    try await command.run()
                } else {
                    var command = parsed
                    try command.run()
                }
            }
            return 0
        } catch {
            let code = exitCode(for: error)
            switch code {
            // Help, and completions, which hold what a terminal acts on: they are the program's own.
            case .success: Console.current.write(fullMessage(for: error))
            case .validationFailure: Terminal.complain(Misuse(error, arguments).lines)
            default:
                let message = message(for: error)
                if !message.isEmpty { Terminal.complain("reveille: \(message)") }
            }
            return code.rawValue
        }
    }
}
