import ArgumentParser
import CallVocabulary

struct AliasesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aliases", abstract: "Look at other handles that users are called by, and change them.",
        discussion: """
            Asks the server that runs on the data folder.

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

        @Option(help: "table or json.") var output = OutputFormat.table
        @OptionGroup var data: DataOptions

        func run() async throws {
            guard case .aliases(let aliases) = try await Administration.ask(.listAliases, of: data) else {
                throw Administration.unexpected()
            }
            switch output {
            case .json: try JSONOutput.write(["aliases": aliases.map(JSONOutput.alias)])
            case .table:
                var table = Table(["ALIAS", "USER"])
                for alias in aliases { table.add([alias.handle.text, alias.user.text]) }
                for line in table.lines { print(line) }
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an alias, or turn it to another user.",
            discussion: "  reveille aliases set +81312345678 alice")

        @Argument(help: "The handle that stands for the user.") var alias: String
        @Argument(help: "The user's own handle.") var user: String
        @OptionGroup var data: DataOptions

        func validate() throws { _ = try pair() }

        func run() async throws {
            let pair = try pair()
            let missing = "no user \(user)"
            _ = try await Administration.ask(.setAlias(pair), of: data, missing: missing)
            print("\(pair.handle) is \(pair.user)")
        }

        private func pair() throws -> Alias {
            Alias(handle: try Handle(argument: alias), user: try Handle(argument: user))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an alias. Calls under way go on.", discussion: "  reveille aliases delete +81312345678")

        @Argument(help: "The alias.") var alias: String
        @OptionGroup var data: DataOptions

        func validate() throws { _ = try Handle(argument: alias) }

        func run() async throws {
            _ = try await Administration.ask(
                .deleteAlias(try Handle(argument: alias)), of: data,
                missing: "no alias \(alias); see reveille aliases list")
            print("alias \(alias) deleted")
        }
    }
}
