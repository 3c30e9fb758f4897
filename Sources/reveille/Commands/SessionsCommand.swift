import AdminProtocol
import ArgumentParser
import CallVocabulary

struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "List sessions, and end them.",
        discussion: """
              reveille sessions list
              reveille sessions drop bob 1a2b3c4d
            """,
        subcommands: [List.self, Drop.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List sessions by user: online ones, and disconnected ones that can still be resumed.",
            discussion: """
                Needs a running server.

                  reveille sessions list
                  reveille sessions list --user bob --output json
                """)

        @Option(
            help: "Only entries of this user.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle?
        @Option(help: "The maximum number of rows.") var limit = 1000
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func validate() throws {
            guard (1...1_000_000).contains(limit) else { throw ValidationError("--limit is 1 to 1000000.") }
        }

        func run() async throws {
            let sessions = try await Administration.with(server) {
                try await $0.all(ListSessions(user: user), atMost: limit + 1)
            }
            try output.format.write(
                "sessions", Array(sessions.prefix(limit)), table: SessionText.table, none: "no such sessions",
                hasMore: sessions.count > limit)
        }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End sessions of a user: the server closes the socket, and the app must open a new session.",
            discussion: """
                Needs a running server. The device may be left out when the user has one session. In its \
                calls the device counts as disconnected, and cannot resume. Exit code 1: there is no such session.

                  reveille sessions drop bob
                  reveille sessions drop bob 1a2b3c4d
                  reveille sessions drop bob --all
                """)

        @Argument(help: "The user's handle.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle
        @Argument(
            help: "The device's id, or the first or last digits of it.", completion: KnownIDs.devices,
            transform: IDPart<DeviceSubject>.init(argument:)) var device: IDPart<DeviceSubject>?
        @Flag(help: "End all sessions of the user.") var all = false
        @OptionGroup var server: ServerOptions

        func validate() throws {
            guard device == nil || !all else { throw ValidationError("Give a device or --all.") }
        }

        func run() async throws {
            try await Administration.with(server) { server in
                for device in try await find(on: server) {
                    _ = try await server.perform(DropSession(user: user, deviceID: device), missing: missing)
                    Terminal.print("session of \(PartyText.name(user, device)) dropped")
                }
            }
        }

        private var missing: String {
            let what = device.map { "\(user.text.shown) has no session on device \($0.text)" }
            return (what ?? "\(user.text.shown) has no session") + "; see reveille sessions list"
        }

        private func find(on server: Administration) async throws -> [DeviceID] {
            if let exact = device?.exact { return [exact] }
            let sessions = try await server.all(ListSessions(user: user))
            if let device {
                return [
                    try device.only(of: sessions, id: \.deviceID, line: SessionText.line, missing: missing).deviceID
                ]
            }
            guard !sessions.isEmpty else { throw Terminal.failed(missing) }
            guard all || sessions.count == 1 else {
                Terminal.complain("reveille: \(user.text.shown) has several sessions; name the device, or give --all:")
                for session in sessions.prefix(20) { Terminal.complain("  \(SessionText.line(session))") }
                throw Exit.failed
            }
            return sessions.map(\.deviceID)
        }
    }
}
