import AdminProtocol
import ArgumentParser
import CallVocabulary

struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Show a user, set policies, block callers, forward calls, and revoke the user's tokens.",
        discussion: """
            Needs a running server.

              reveille users show alice
              reveille users set alice --do-not-disturb on
              reveille users set alice --missed-calls alert
              reveille users block alice mallory
              reveille users forward alice --busy carol --no-answer group:support
              reveille users revoke alice
            """,
        subcommands: [Show.self, Set.self, Block.self, Unblock.self, Forward.self, Revoke.self])

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a user: policies, block list, forwarding, aliases, groups, devices, live calls.",
            discussion: """
                  reveille users show alice
                  reveille users show alice --output json
                """)

        @Argument(help: "The user's handle.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            let missing =
                "no user \(user.text.shown); one is there once a device of theirs has registered or a policy was set"
            let view = try await Administration.ask(GetUser(user), of: server, missing: missing)
            try output.format.write("user", view, text: DirectoryText.details)
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set policies for calls to a user. Policies without an option keep their value.",
            discussion: """
                  reveille users set alice --do-not-disturb on
                  reveille users set alice --call-waiting off --decline device
                """)

        @Argument(help: "The user's handle.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle
        @Option(help: "on: a second call rings; off: it ends as busy.") var callWaiting: Switch?
        @Option(help: "on: no device rings; calls end as declined and are recorded as missed.") var doNotDisturb:
            Switch?
        @Option(help: "Whether a decline stops the ringing of all devices, or of the declining device only.")
        var decline: DeclinePolicy?
        @Option(help: "The push that tells offline devices of the user about a missed call.")
        var missedCalls: MissedCallPush?
        @OptionGroup var server: ServerOptions

        func validate() throws {
            guard change != UserPolicyChange() else {
                throw ValidationError(
                    "Say what to change: --call-waiting, --do-not-disturb, --decline or --missed-calls.")
            }
        }

        func run() async throws {
            try await UsersCommand.change(
                user, SetUser(user, change), at: server, done: "user \(user.text.shown) set")
        }

        private var change: UserPolicyChange {
            UserPolicyChange(
                callWaiting: callWaiting.map { $0 == .on }, decline: decline,
                doNotDisturb: doNotDisturb.map { $0 == .on }, missedCalls: missedCalls)
        }
    }

    /// Sends a change for a user, who need not be known. Says so if no device of theirs is: the name may be mistyped.
    static func change<Request: AdminRequest>(
        _ user: Handle, _ request: Request, at server: ServerOptions, missing: String? = nil, done: String
    ) async throws {
        let hasDevice = try await Administration.with(server) { administration -> Bool in
            let hasDevice = try await Self.hasDevice(user, administration)
            _ = try await administration.perform(request, missing: missing)
            return hasDevice
        }
        Terminal.print(done)
        guard !hasDevice else { return }
        Terminal.complain("\(user.text.shown) has no device yet; check the name, or expect the first one")
    }

    /// - Returns: true as well if the server does not say.
    private static func hasDevice(_ user: Handle, _ administration: Administration) async throws(AdminProblem) -> Bool {
        do throws(AdminProblem) {
            return try await administration.perform(GetUser(user)).devices > 0
        } catch {
            switch error.kind {
            case .refused: return false
            case .notUnderstood: return true
            case .unreachable: throw error
            }
        }
    }

    enum Switch: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }
}
