import AdminProtocol
import ArgumentParser
import CallVocabulary

struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List, show, resume and delete devices: push tokens, and whether a device reports its pushes.",
        discussion: """
              reveille devices list --suspended
              reveille devices show bob 1a2b3c4d
              reveille devices resume bob 1a2b3c4d
              reveille devices delete bob 1a2b3c4d
            """,
        subcommands: [List.self, Show.self, Resume.self, Delete.self])

    /// One device of a user.
    struct Name: ParsableArguments {
        @Argument(help: "The user's handle.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle
        @Argument(
            help: "The device's id, or its first or last digits.", completion: KnownIDs.devices,
            transform: IDPart<DeviceSubject>.init(argument:)) var device: IDPart<DeviceSubject>

        var missing: String { DeviceText.missing(user, device) }

        /// Looks the device up by a part of its id.
        func find(on server: Administration) async throws -> DeviceID {
            if let exact = device.exact { return exact }
            let devices = try await server.all(ListDevices(user: user))
            return try device.only(of: devices, id: \.deviceID, line: DeviceText.line, missing: missing).deviceID
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List devices, by user.",
            discussion: """
                Asks the server on the data folder, or the one that --server names. Where none runs it reads the \
                store, and says so.

                  reveille devices list --user alice
                  reveille devices list --suspended --output json
                """)

        @Option(
            help: "Only entries of this user.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle?
        @Flag(help: "Only suspended devices. They get alerts for calls, because they left VoIP pushes unreported.")
        var suspended = false
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            let query = ListDevices(user: user, suspended: suspended ? true : nil)
            try await StoredRecords.with(server) {
                let devices = try await $0.devices(query).items
                try output.format.write("devices", devices, table: DeviceText.table, none: "no such devices")
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one device: app, push tokens, health.",
            discussion: """
                Asks as devices list does. Exit code 1: there is no such device.

                  reveille devices show alice 1a2b3c4d
                """)

        @OptionGroup var name: Name
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            try await StoredRecords.with(server) {
                let device = try await $0.device(of: name.user, name.device)
                try output.format.write("device", device, text: DeviceText.details)
            }
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a device's suspension: calls send it VoIP pushes again.",
            discussion: """
                Needs a running server. A device that still does not report is suspended again.

                  reveille devices resume alice 1a2b3c4d
                """)

        @OptionGroup var name: Name
        @OptionGroup var server: ServerOptions

        func run() async throws {
            let device = try await Administration.with(server) { server in
                let device = try await name.find(on: server)
                _ = try await server.perform(ResumeDevice(user: name.user, deviceID: device), missing: name.missing)
                return device
            }
            Terminal.print("device \(device) of \(name.user.text.shown) resumed")
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a device with its push tokens; calls no longer ring it.",
            discussion: """
                Needs a running server. The device's session is closed as after a logout, and its calls end as if it \
                had logged out. An app with a valid token can register the device again; \
                reveille users revoke prevents that. Exit code 1: there is no such device.

                  reveille devices delete alice 1a2b3c4d
                """)

        @OptionGroup var name: Name
        @OptionGroup var server: ServerOptions

        func run() async throws {
            let device = try await Administration.with(server) { server in
                let device = try await name.find(on: server)
                _ = try await server.perform(DeleteDevice(user: name.user, deviceID: device), missing: name.missing)
                return device
            }
            Terminal.print("device \(device) of \(name.user.text.shown) deleted")
        }
    }
}
