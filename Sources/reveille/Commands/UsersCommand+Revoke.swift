import AdminProtocol
import ArgumentParser
import CallVocabulary

extension UsersCommand {
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a user's tokens: log out all devices, and refuse tokens issued before now.",
            discussion: """
                Needs a running server. The server closes every session of the user, and sends no pushes until a \
                device opens a session with a newer token. The time of issue is the token's iat; a token without iat \
                is refused. An iat in whole seconds counts as the start of its second: the server also refuses a token \
                that the issuer makes in the second of the revocation, after it. The revocation is permanent; a later time replaces an earlier one. The user need not be \
                registered yet.

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
            let time = before.map { "before \(Moment.full($0))" } ?? "until now"
            try await UsersCommand.change(
                user, RevokeTokens(user, before: before), at: server, missing: missing,
                done: "user \(user.text.shown) is logged out; tokens issued \(time) are refused")
        }
    }
}
