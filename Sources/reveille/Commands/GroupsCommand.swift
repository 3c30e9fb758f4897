import ArgumentParser
import CallVocabulary

struct GroupsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "groups", abstract: "Look at groups of users who are called under one name, and change them.",
        discussion: """
            Asks the server that runs on the data folder. A client calls a group as {"group": "sales"}.

              reveille groups set sales alice bob carol --strategy hunt
              reveille groups list
            """,
        subcommands: [List.self, Show.self, Set.self, Delete.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the groups by name.",
            discussion: """
                  reveille groups list
                  reveille groups list --output json
                """)

        @Option(help: "table or json.") var output = OutputFormat.table
        @OptionGroup var data: DataOptions

        func run() async throws {
            guard case .groups(let groups) = try await Administration.ask(.listGroups, of: data) else {
                throw Administration.unexpected()
            }
            switch output {
            case .json: try JSONOutput.write(["groups": groups.map(JSONOutput.group)])
            case .table:
                var table = Table(["GROUP", "STRATEGY", "MEMBERS"])
                for group in groups { table.add([group.name, group.strategy.rawValue, "\(group.members.count)"]) }
                for line in table.lines { print(line) }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one group and its members in the order they are rung.",
            discussion: "  reveille groups show sales")

        @Argument(help: "The group's name.") var name: String
        @Option(help: "table or json.") var output = OutputFormat.table
        @OptionGroup var data: DataOptions

        func validate() throws { _ = try GroupsCommand.checked(name) }

        func run() async throws {
            let reply = try await Administration.ask(.showGroup(name), of: data, missing: GroupsCommand.missing(name))
            guard case .group(let group) = reply else { throw Administration.unexpected() }
            switch output {
            case .json: try JSONOutput.write(["group": JSONOutput.group(group)])
            case .table:
                print(GroupsCommand.summary(group))
                var table = Table(["", "MEMBER"])
                for (index, member) in group.members.enumerated() { table.add(["\(index + 1)", member.text]) }
                for line in table.lines { print(line) }
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a group, or take the place of the one with its name.",
            discussion: """
                Calls under way keep the members they have.

                  reveille groups set sales alice bob
                  reveille groups set support alice bob carol --strategy hunt
                """)

        @Argument(help: "The group's name.") var name: String
        @Argument(help: "Its members, users or aliases, in the order they are rung; at most \(CallGroup.mostMembers).")
        var members: [String]
        @Option(help: "all: every member at once; hunt: one after the other, fifteen seconds apart.")
        var strategy = CallGroup.Strategy.all
        @OptionGroup var data: DataOptions

        func validate() throws { _ = try group() }

        func run() async throws {
            let group = try group()
            _ = try await Administration.ask(.setGroup(group), of: data)
            print(GroupsCommand.summary(group))
        }

        private func group() throws -> CallGroup {
            guard members.count <= CallGroup.mostMembers else {
                throw ValidationError("A group has at most \(CallGroup.mostMembers) members, not \(members.count).")
            }
            return CallGroup(
                name: try GroupsCommand.checked(name), strategy: strategy,
                members: try members.map(Handle.init(argument:)))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a group. Calls under way go on.", discussion: "  reveille groups delete sales")

        @Argument(help: "The group's name.") var name: String
        @OptionGroup var data: DataOptions

        func validate() throws { _ = try GroupsCommand.checked(name) }

        func run() async throws {
            _ = try await Administration.ask(.deleteGroup(name), of: data, missing: GroupsCommand.missing(name))
            print("group \(name) deleted")
        }
    }

    /// A group's name follows the rules of a handle.
    private static func checked(_ name: String) throws -> String { try Handle(argument: name).text }

    private static func missing(_ name: String) -> String { "no group \(name); see reveille groups list" }

    private static func summary(_ group: CallGroup) -> String {
        let way =
            switch group.strategy {
            case .all: "rung all at once"
            case .hunt: "rung one after the other"
            }
        return
            "group \(group.name): \(group.members.count == 1 ? "1 member" : "\(group.members.count) members"), \(way)"
    }
}

extension CallGroup.Strategy: ExpressibleByArgument {}

extension Handle {
    /// - Throws: `ValidationError`, so that it is the command line that is at fault.
    init(argument: String) throws {
        guard let handle = Handle(argument) else {
            throw ValidationError(
                "'\(argument)' is no handle: 1 to \(Handle.longest) bytes without spaces and control characters.")
        }
        self = handle
    }
}
