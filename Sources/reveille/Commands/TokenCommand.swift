import ArgumentParser
import CallServer
import CallVocabulary

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Mint a client token for a user.",
        discussion: """
            Signed with the secret in the server's data folder; the server need not run.

              reveille token alice
              reveille token alice --ttl 3600 --name "Alice"
            """)

    @Argument(help: "The user's handle.") var user: String
    @Option(help: "How long it is good for, in seconds.") var ttl = 86_400
    @Option(help: "Binds it to one device (UUID).") var device: String?
    @Option(help: "What the user is called, for the other side's screen.") var name: String?
    @OptionGroup var data: DataOptions

    func validate() throws {
        guard Handle(user) != nil else {
            throw ValidationError("'\(user)' is no handle: 1 to \(Handle.longest) bytes without white space.")
        }
        guard (1...31_536_000).contains(ttl) else { throw ValidationError("--ttl is 1 to 31536000 seconds.") }
        if let device, DeviceID(device) == nil { throw ValidationError("--device: '\(device)' is not a UUID.") }
    }

    func run() async throws {
        do {
            try data.folder.prepare()
            let authority = try await TokenAuthority(folder: data.folder)
            // `validate` has checked both.
            print(
                try await authority.mint(
                    user: Handle(user)!, lifetime: .seconds(ttl), device: device.flatMap { DeviceID($0) }, name: name))
        } catch {
            throw Terminal.unavailable(error)
        }
    }
}
