import ArgumentParser
import CallServer
import CallVocabulary
import Foundation
import ServerSettings

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Create a token for a user or a backend, or explain why a server accepts or refuses a token.",
        discussion: """
            The default subcommand is create.

              reveille token alice
              reveille token explain eyJhbGciOi…
              reveille token backend pbx --role calls
            """, subcommands: [Create.self, Explain.self, Backend.self], defaultSubcommand: Create.self)
}

extension TokenCommand {
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a client token for a user.",
            discussion: """
                Signed with the secret in the server's data folder, or with that of its realm; the server need not run.

                  reveille token alice
                  reveille token alice --config /etc/reveille/reveille.yaml
                  reveille token create alice --ttl 12h --name "Alice"
                """)

        @Argument(help: "The user's handle.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle
        @Option(
            parsing: .unconditional,
            help: ArgumentHelp("The lifetime of the token, in seconds or as 90s, 15m, 2h or 3d.", valueName: "time"),
            transform: TimeSpan.parse) var ttl = Duration.seconds(86_400)
        @Option(help: "The only device that may use the token (UUID).", completion: KnownIDs.devices) var device:
            String?
        @Option(help: "The user's display name, shown to the other party.") var name: String?
        @OptionGroup var realm: RealmOptions

        func validate() throws {
            guard (.seconds(1) ... .seconds(31_536_000)).contains(ttl) else {
                throw ValidationError("--ttl is one second to one year (365d).")
            }
            if let device, DeviceID(device) == nil { throw ValidationError("--device: '\(device)' is not a UUID.") }
        }

        func run() async throws {
            let settings = try Terminal.tokenSettings(of: realm.settings())
            let newSecret = settings.newSecretPath
            let authority = try TokenAuthority(minting: settings)
            Terminal.print(
                try await authority.mint(
                    user: user, lifetime: ttl, device: device.flatMap { DeviceID($0) }, name: name))
            guard let newSecret else { return }
            Terminal.complain("signed with a new secret, \(newSecret): only a server on this folder takes the token")
        }
    }
}
