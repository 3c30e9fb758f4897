import ArgumentParser
import CallCore
import CallServer
import CallStore
import CallVocabulary

struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "Look at devices: their push tokens, and whether they report their pushes.",
        subcommands: [List.self, Show.self, Resume.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List devices, by user.",
            discussion: """
                Read from the data folder; the server may run or not.

                  reveille devices list --user alice
                  reveille devices list --suspended --output json
                """)

        @Option(help: "Only those of this user.") var user: String?
        @Flag(help: "Only those that get no calls but as alerts, because they do not report their pushes.")
        var suspended = false
        @Option(help: "table or json.") var output = OutputFormat.table
        @OptionGroup var data: DataOptions

        func validate() throws {
            if let user { _ = try Handle(argument: user) }
        }

        func run() async throws {
            do {
                let all = try StoreReader.open(folder: data.folder.path).devices(user: user.flatMap { Handle($0) })
                let devices = all.filter { !suspended || $0.suspendedAt != nil }
                switch output {
                case .json: try JSONOutput.write(["devices": devices.map(JSONOutput.device)])
                case .table:
                    var table = Table(["USER", "DEVICE", "PLATFORM", "TOKENS", "HEALTH", "SEEN"])
                    for device in devices {
                        table.add([
                            device.key.user.text, device.key.device.description, device.platform.rawValue,
                            DeviceText.kinds(device), DeviceText.health(device), Moment.text(device.seenAt),
                        ])
                    }
                    for line in table.lines { print(line) }
                }
            } catch {
                throw Terminal.unavailable(error)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one device: app, push tokens, health.",
            discussion: """
                Read from the data folder; the server may run or not. Exit code 1 when there is no such device.

                  reveille devices show alice ID
                """)

        @Argument(help: "The user's handle.") var user: String
        @Argument(help: "The device's id (UUID).") var device: String
        @Option(help: "table or json.") var output = OutputFormat.table
        @OptionGroup var data: DataOptions

        func validate() throws {
            _ = try DeviceKey(user: user, device: device)
        }

        func run() async throws {
            do {
                let key = try DeviceKey(user: user, device: device)
                let devices = try StoreReader.open(folder: data.folder.path).devices(user: key.user)
                guard let found = devices.first(where: { $0.key == key }) else {
                    Terminal.complain("reveille: \(user) has no device \(device); see reveille devices list")
                    throw Exit.failed
                }
                switch output {
                case .json: try JSONOutput.write(["device": JSONOutput.device(found)])
                case .table: for line in DeviceText.table(found).lines { print(line) }
                }
            } catch {
                throw Terminal.unavailable(error)
            }
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a device's suspension: calls make it ring by itself again.",
            discussion: """
                Asks the server that runs on the data folder. A device that still does not report is suspended again.

                  reveille devices resume alice ID
                """)

        @Argument(help: "The user's handle.") var user: String
        @Argument(help: "The device's id (UUID).") var device: String
        @OptionGroup var data: DataOptions

        func validate() throws {
            _ = try DeviceKey(user: user, device: device)
        }

        func run() async throws {
            let key = try DeviceKey(user: user, device: device)
            _ = try await Administration.ask(
                .resumeDevice(key.user, key.device), of: data,
                missing: "\(user) has no device \(device); see reveille devices list")
            print("device \(device) of \(user) resumed")
        }
    }
}

extension DeviceKey {
    /// As typed on the command line.
    fileprivate init(user: String, device: String) throws {
        guard let id = DeviceID(device) else {
            throw ValidationError("'\(device)' is not a device id (a UUID); see reveille devices list.")
        }
        self.init(user: try Handle(argument: user), device: id)
    }
}
