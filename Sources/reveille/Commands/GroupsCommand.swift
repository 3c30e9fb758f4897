import AdminProtocol
import ArgumentParser
import CallVocabulary

struct GroupsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "groups", abstract: "List, show, set and delete groups of users with one name to call.",
        discussion: """
            Needs a running server. A client calls a group as {"group": "sales"}.

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
            let groups = try await Administration.with(server) { try await $0.all(ListGroups()) }
            try output.format.write("groups", groups, table: DirectoryText.table, none: "no groups")
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
            let view = try await Administration.ask(GetGroup(group.name), of: server, missing: group.missing)
            try output.format.write("group", view, text: DirectoryText.details)
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a group, or replace the group of that name.",
            discussion: """
                Live calls keep their members.

                  reveille groups set sales alice bob
                  reveille groups set support alice bob carol --strategy hunt
                  reveille groups set sales alice bob boss --delay boss=20
                """)

        @OptionGroup var group: Name
        @Argument(
            help: "Its members, users or aliases, in the order they are rung; at most \(CallGroup.mostMembers).",
            completion: KnownIDs.usersAndAliases, transform: Handle.init(argument:)) var members: [Handle]
        @Option(help: "all: every member at once; hunt: one after the other, calls.hunt_step_seconds apart.")
        var strategy = CallGroup.Strategy.all
        @Option(
            help: ArgumentHelp(
                "A member's delay in seconds. With all: after the start of the call. With hunt: after the member before.",
                valueName: "member=seconds"), transform: Delay.init(argument:)) var delay: [Delay] = []
        @OptionGroup var server: ServerOptions

        func validate() throws {
            guard members.count <= CallGroup.mostMembers else {
                throw ValidationError("A group has at most \(CallGroup.mostMembers) members, not \(members.count).")
            }
            for delay in delay where !members.contains(delay.member) {
                throw ValidationError("--delay names \(delay.member.text.shown), who is no member.")
            }
            // Handles that differ in their bytes can be equal texts, which name the delays of a request.
            guard Swift.Set(delay.map(\.member.text)).count == delay.count else {
                throw ValidationError("--delay names each member once.")
            }
        }

        func run() async throws {
            let delays = Dictionary(uniqueKeysWithValues: delay.map { ($0.member.text, $0.seconds) })
            let request = SetGroup(
                name: group.name, strategy: strategy, members: members, delays: delays.isEmpty ? nil : delays)
            _ = try await Administration.ask(request, of: server)
            Terminal.print(DirectoryText.summary(group.name.text, strategy, members.count, delayed: delays.count))
        }
    }

    /// `bob=20`. A handle may contain `=`.
    struct Delay {
        let member: Handle
        let seconds: Int

        init(argument: String) throws {
            guard let sign = argument.lastIndex(of: "="), let seconds = Int(argument[argument.index(after: sign)...]),
                (0...CallGroup.longestDelay.components.seconds).contains(Int64(seconds))
            else { throw ValidationError("'\(argument.shown)' is no delay: give a member and 0 to 600 s, as bob=20.") }
            member = try Handle(argument: String(argument[..<sign]))
            self.seconds = seconds
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a group. Live calls continue.", discussion: "  reveille groups delete sales")

        @OptionGroup var group: Name
        @OptionGroup var server: ServerOptions

        func run() async throws {
            _ = try await Administration.ask(DeleteGroup(group.name), of: server, missing: group.missing)
            Terminal.print("group \(group.name.text.shown) deleted")
        }
    }
}
