import AdminProtocol
import ArgumentParser
import CallVocabulary

struct GroupsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "groups", abstract: "List, show, set and delete groups of users with one name to call.",
        discussion: """
            Asks the running server. A client calls a group as {"group": "sales"}.

              reveille groups set sales alice bob carol --strategy hunt
              reveille groups list
            """,
        subcommands: [List.self, Show.self, Set.self, Delete.self])

    /// A group's name follows the rules of a handle.
    struct Name: ParsableArguments {
        @Argument(help: "The group's name.", completion: KnownIDs.groups, transform: Handle.init(argument:))
        var name: Handle

        var missing: String { "no group \(name.text.shown); see reveille groups list" }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the groups by name.",
            discussion: """
                  reveille groups list
                  reveille groups list --output json
                """)

        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            try await Terminal.reporting {
                let groups = try await Administration.with(server) { try await $0.all(ListGroups()) }
                try output.format.write("groups", groups, table: DirectoryText.table, none: "no groups")
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one group and its members in the order they are rung.",
            discussion: "  reveille groups show sales")

        @OptionGroup var group: Name
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            try await Terminal.reporting {
                let view = try await Administration.ask(GetGroup(group.name), of: server, missing: group.missing)
                try output.format.write("group", view, text: DirectoryText.details)
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a group, or replace the group of that name.",
            discussion: """
                Live calls keep their members.

                  reveille groups set sales alice bob
                  reveille groups set support alice bob carol --strategy hunt
                """)

        @OptionGroup var group: Name
        @Argument(
            help: "Its members, users or aliases, in the order they are rung; at most \(CallGroup.mostMembers).",
            completion: KnownIDs.usersAndAliases, transform: Handle.init(argument:)) var members: [Handle]
        @Option(help: "all: every member at once; hunt: one after the other, calls.hunt_step_seconds apart.")
        var strategy = CallGroup.Strategy.all
        @OptionGroup var server: ServerOptions

        func validate() throws {
            guard members.count <= CallGroup.mostMembers else {
                throw ValidationError("A group has at most \(CallGroup.mostMembers) members, not \(members.count).")
            }
        }

        func run() async throws {
            try await Terminal.reporting {
                let request = SetGroup(name: group.name, strategy: strategy, members: members)
                _ = try await Administration.ask(request, of: server)
                Terminal.print(DirectoryText.summary(group.name.text, strategy, members.count))
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a group. Live calls continue.", discussion: "  reveille groups delete sales")

        @OptionGroup var group: Name
        @OptionGroup var server: ServerOptions

        func run() async throws {
            try await Terminal.reporting {
                _ = try await Administration.ask(DeleteGroup(group.name), of: server, missing: group.missing)
                Terminal.print("group \(group.name.text.shown) deleted")
            }
        }
    }
}
