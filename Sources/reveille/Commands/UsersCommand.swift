import ArgumentParser
import CallVocabulary

struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "Look at a user, and set what holds for calls to them.",
        discussion: """
            Asks the server that runs on the data folder.

              reveille users show alice
              reveille users set alice --do-not-disturb on
              reveille users set alice --missed-calls alert
            """,
        subcommands: [Show.self, Set.self])

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a user: policies, aliases, groups, devices, live calls.",
            discussion: """
                  reveille users show alice
                  reveille users show alice --output json
                """)

        @Argument(help: "The user's handle.") var user: String
        @Option(help: "table or json.") var output = OutputFormat.table
        @OptionGroup var data: DataOptions

        func validate() throws { _ = try Handle(argument: user) }

        func run() async throws {
            let missing = "no user \(user); one is there once a device of theirs has registered or a policy was set"
            let reply = try await Administration.ask(
                .showUser(try Handle(argument: user)), of: data, missing: missing)
            guard case .user(let view) = reply else { throw Administration.unexpected() }
            switch output {
            case .json: try JSONOutput.write(["user": JSONOutput.user(view)])
            case .table: for line in Self.table(view).lines { print(line) }
            }
        }

        private static func table(_ user: UserView) -> Table {
            func list(_ names: [String]) -> String { names.isEmpty ? "-" : names.joined(separator: ", ") }
            var table = Table(["USER", user.handle.text])
            table.add(["call waiting", user.policy.callWaiting ? "on" : "off"])
            table.add(["do not disturb", user.policy.doNotDisturb ? "on" : "off"])
            table.add(["a decline ends", user.policy.decline == .all ? "all devices" : "that device only"])
            table.add(["missed calls", Self.text(user.policy.missedCalls)])
            table.add(["aliases", list(user.aliases.map(\.text))])
            table.add(["groups", list(user.groups)])
            table.add(["devices", "\(user.devices), \(user.devicesOnline) online"])
            table.add(["live calls", "\(user.liveCalls)"])
            return table
        }

        private static func text(_ missedCalls: MissedCallPush) -> String {
            switch missedCalls {
            case .off: "no push"
            case .alert: "alert"
            case .background: "background push, at most twice an hour"
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change what holds for calls to a user; what is not named stays.",
            discussion: """
                  reveille users set alice --do-not-disturb on
                  reveille users set alice --call-waiting off --decline device
                """)

        @Argument(help: "The user's handle.") var user: String
        @Option(help: "on: a second call is offered; off: it ends as busy.") var callWaiting: Switch?
        @Option(help: "on: nobody rings, calls end as declined and are kept as missed.") var doNotDisturb: Switch?
        @Option(help: "What one device's decline ends: all devices' ringing, or that of this device.")
        var decline: DeclinePolicy?
        @Option(help: "Which push tells the user's devices that are offline of a missed call.")
        var missedCalls: MissedCallPush?
        @OptionGroup var data: DataOptions

        func validate() throws {
            _ = try Handle(argument: user)
            guard change != UserPolicyChange() else {
                throw ValidationError(
                    "Say what to change: --call-waiting, --do-not-disturb, --decline or --missed-calls.")
            }
        }

        func run() async throws {
            _ = try await Administration.ask(.setUser(try Handle(argument: user), change), of: data)
            print("user \(user) set")
        }

        private var change: UserPolicyChange {
            UserPolicyChange(
                callWaiting: callWaiting.map { $0 == .on }, decline: decline,
                doNotDisturb: doNotDisturb.map { $0 == .on }, missedCalls: missedCalls)
        }
    }

    enum Switch: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }
}

extension DeclinePolicy: ExpressibleByArgument {}
extension MissedCallPush: ExpressibleByArgument {}
