import ArgumentParser
import Foundation

/// A command as ArgumentParser describes it to programs (`--experimental-dump-help`).
struct CommandDescription: Decodable {
    struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String

            var text: String { kind == "long" ? "--\(name)" : "-\(name)" }
        }

        /// `positional`, `option` or `flag`.
        var kind: String
        var shouldDisplay: Bool
        var isOptional: Bool
        var isRepeating: Bool
        var names: [Name]?
        var valueName: String?
        var defaultValue: String?
        var allValues: [String]?
        var abstract: String?
        var discussion: String?
    }

    var commandName: String
    var abstract: String?
    var discussion: String?
    var shouldDisplay: Bool
    var subcommands: [CommandDescription]?
    var arguments: [Argument]?

    /// The program with all its commands.
    static func ofProgram() throws -> CommandDescription {
        struct Dump: Decodable { var command: CommandDescription }
        return try JSONDecoder().decode(Dump.self, from: Data(Reveille._dumpHelp().utf8)).command
    }

    /// The visible subcommands, without `help`.
    var shownSubcommands: [CommandDescription] {
        (subcommands ?? []).filter { $0.shouldDisplay && $0.commandName != "help" }
    }

    /// Without --help and --version.
    var shownArguments: [Argument] {
        (arguments ?? []).filter { argument in
            argument.shouldDisplay && !(argument.names ?? []).contains { $0.name == "help" || $0.name == "version" }
        }
    }
}
