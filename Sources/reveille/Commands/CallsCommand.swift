import ArgumentParser

struct CallsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "calls", abstract: "List, show, watch and end calls.",
        discussion: """
              reveille calls list --live
              reveille calls watch
              reveille calls show 0b9c8e4e
              reveille calls end 0b9c8e4e
            """,
        subcommands: [List.self, Show.self, CallsWatchCommand.self, End.self])
}
