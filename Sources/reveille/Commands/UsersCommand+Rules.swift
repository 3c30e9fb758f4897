import AdminProtocol
import ArgumentParser
import CallVocabulary

/// Block lists and forwarding.
extension UsersCommand {
    /// A user, and callers to block or unblock.
    struct Callers: ParsableArguments {
        @Argument(help: "The user's handle.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle
        @Argument(
            help: "Handles of callers. An alias stands for the user that it names now.",
            completion: KnownIDs.usersAndAliases, transform: Handle.init(argument:)) var callers: [Handle]

        func validate() throws {
            guard callers.count <= CallRules.mostBlocked else {
                throw ValidationError("A user blocks at most \(CallRules.mostBlocked) callers.")
            }
        }

        var names: String { PartyText.list(callers.map(\.text)) }
    }

    struct Block: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Block callers: their calls do not ring, and are not missed calls.",
            discussion: """
                Calls of a blocked caller end as declined, as with do not disturb, so the caller does not learn of the \
                block. Live calls continue. A call to a group rings the other members.

                  reveille users block alice mallory
                """)

        @OptionGroup var who: Callers
        @OptionGroup var server: ServerOptions

        func run() async throws {
            try await UsersCommand.change(
                who.user, BlockCallers(who.user, who.callers), at: server,
                done: "user \(who.user.text.shown) blocks \(who.names)")
        }
    }

    struct Unblock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove callers from the block list.", discussion: "  reveille users unblock alice mallory")

        @OptionGroup var who: Callers
        @OptionGroup var server: ServerOptions

        func run() async throws {
            _ = try await Administration.ask(UnblockCallers(who.user, who.callers), of: server)
            Terminal.print("user \(who.user.text.shown) no longer blocks \(who.names)")
        }
    }

    struct Forward: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forward the calls that the user does not answer; --off ends forwarding.",
            discussion: """
                Replaces the user's earlier forwarding. Declined calls and calls to lists and groups are not \
                forwarded. A call is forwarded at most limits.forwards times.

                  reveille users forward alice --no-answer carol --after 20s
                  reveille users forward alice --busy group:support --no-answer group:support
                  reveille users forward alice --off
                """)

        @Argument(help: "The user's handle.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle
        @Option(
            help: "The user, alias or group:NAME to ring when the user is busy.",
            completion: KnownIDs.usersAndAliases, transform: target) var busy: CallTarget?
        @Option(
            help: "The user, alias or group:NAME to ring when no device of the user answers or can be reached.",
            completion: KnownIDs.usersAndAliases, transform: target) var noAnswer: CallTarget?
        @Option(
            help: "How long the user's devices ring first, in whole seconds. Default: the ring time of the call.",
            transform: TimeSpan.parse) var after: Duration?
        @Flag(help: "End forwarding.") var off = false
        @OptionGroup var server: ServerOptions

        func validate() throws {
            guard off != (busy != nil || noAnswer != nil) else {
                throw ValidationError("Give --busy, --no-answer or both; or --off alone.")
            }
            guard let after else { return }
            guard noAnswer != nil else { throw ValidationError("--after goes with --no-answer.") }
            guard CallRules.noAnswerRange.contains(after), after == .seconds(after.components.seconds) else {
                throw ValidationError("--after is 5 to 600 whole seconds.")
            }
        }

        func run() async throws {
            let request = ForwardCalls(
                user, busy: busy.map(TargetView.init), noAnswer: noAnswer.map(TargetView.init),
                noAnswerSeconds: after.map { Int($0.components.seconds) })
            let rules = CallRules(forwardBusy: busy, forwardNoAnswer: noAnswer, noAnswerAfter: after)
            let forwarding = DirectoryText.forwarding(rules)
            try await UsersCommand.change(
                user, request, at: server,
                done: "user \(user.text.shown) forwards "
                    + (forwarding.isEmpty ? "no calls" : "calls: " + forwarding.joined(separator: ", ")))
        }

        private static func target(_ text: String) throws -> CallTarget {
            let prefix = "group:"
            guard text.hasPrefix(prefix) else { return .user(try Handle(argument: text)) }
            return .group(try Handle(argument: String(text.dropFirst(prefix.count))).text)
        }
    }
}
