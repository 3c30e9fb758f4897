import AdminProtocol
import ArgumentParser
import CallVocabulary

struct AliasesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aliases", abstract: "List, set and delete aliases, which are further handles of a user.",
        discussion: """
            Needs a running server.

              reveille aliases set +81312345678 alice
              reveille aliases list
            """,
        subcommands: [List.self, Set.self, Delete.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the aliases by name.",
            discussion: """
                  reveille aliases list
                  reveille aliases list --output json
                """)

        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            let aliases = try await Administration.with(server) { try await $0.all(ListAliases()) }
            try output.format.write("aliases", aliases, table: DirectoryText.table, none: "no aliases")
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create an alias, or point it to another user.",
            discussion: "  reveille aliases set +81312345678 alice")

        @Argument(
            help: "The handle that stands for the user.", completion: KnownIDs.aliases,
            transform: Handle.init(argument:)) var alias: Handle
        @Argument(help: "The user's own handle.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle
        @OptionGroup var server: ServerOptions

        func run() async throws {
            let missing = "no user \(user.text.shown)"
            try await UsersCommand.change(
                user, SetAlias(alias: alias, user: user), at: server, missing: missing,
                done: "\(alias.text.shown) is \(user.text.shown)")
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an alias. Live calls continue.", discussion: "  reveille aliases delete +81312345678")

        @Argument(help: "The alias.", completion: KnownIDs.aliases, transform: Handle.init(argument:))
        var alias: Handle
        @OptionGroup var server: ServerOptions

        func run() async throws {
            let missing = "no alias \(alias.text.shown); see reveille aliases list"
            _ = try await Administration.ask(DeleteAlias(alias), of: server, missing: missing)
            Terminal.print("alias \(alias.text.shown) deleted")
        }
    }
}
