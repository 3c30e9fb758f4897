import AdminProtocol
import ArgumentParser
import CallVocabulary

extension UsersCommand {
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a user's tokens: log all devices out, and refuse tokens from before now.",
            discussion: """
                Needs a running server. Every session of the user is closed, and no push follows, until a device opens a \
                session with a newer token. A token is as old as its iat says; one without iat is refused from now on. \
                The command holds for good and also for a user who has not registered yet. A later time replaces an \
                earlier one.

                  reveille users revoke alice
                  reveille users revoke alice --before "2026-09-18 14:00"
                """)

        @Argument(help: "The user's handle.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle
        @Option(
            help: ArgumentHelp(
                "Refuse only tokens issued before this time: \(PointInTime.help).", valueName: "time"),
            transform: PointInTime.parse) var before: Instant?
        @OptionGroup var server: ServerOptions

        func run() async throws {
            let missing = "no user \(user.text.shown)"
            _ = try await Administration.ask(RevokeTokens(user, before: before), of: server, missing: missing)
            let time = before.map { "before \(Moment.full($0))" } ?? "until now"
            Terminal.print("user \(user.text.shown) is logged out; tokens issued \(time) are refused")
        }
    }
}
