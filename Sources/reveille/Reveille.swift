import ArgumentParser

@main
struct Reveille: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reveille",
        abstract: "Call routing that wakes sleeping phones, and accounts for every push.",
        discussion: """
            Try it:    reveille demo
            Run it:    reveille push-sim            (stands in for Apple)
                       reveille serve --push-sim    (the server)
                       reveille phone bob --asleep  (a phone that a push wakes)
                       reveille phone alice         (then type: call bob)
            Look:      reveille calls list, reveille calls show ID, reveille pushes audit
            Arrange:   reveille groups set sales alice bob, reveille users set alice --do-not-disturb on
            """,
        version: "reveille \(ServeCommand.version)",
        subcommands: [
            DemoCommand.self, ServeCommand.self, TokenCommand.self, PhoneCommand.self, PushSimCommand.self,
            CallsCommand.self, PushesCommand.self, GroupsCommand.self, UsersCommand.self, DevicesCommand.self,
            AliasesCommand.self, LoadCommand.self, FCMCommand.self, PushTestCommand.self,
        ])
}
