import ArgumentParser
import Demo
import PushClient

/// What FCM knows us by.
struct FCMOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The key of a service account of the Firebase project (JSON), as its console gives it out.",
            valueName: "file"), completion: .file())
    var fcmServiceAccount: String?

    /// - Throws: `PushConfigurationError` or `ValidationError`, which name the file.
    func endpoint() throws -> FCMEndpoint? {
        try fcmServiceAccount.map { file in
            let json = try ConfigurationFile.text(file, option: "--fcm-service-account")
            return FCMEndpoint(account: try FCMServiceAccount(json: json, source: file))
        }
    }
}

/// Where the push simulator is, for commands that talk to it in place of a provider.
struct SimulatorOptions: ParsableArguments {
    @Flag(help: "Use the simulator on this machine (reveille push-sim).")
    var pushSim = false
    @Option(
        help: ArgumentHelp("The simulator's data folder, if it is not in the server's.", valueName: "folder"),
        completion: .directory)
    var pushSimData: String?

    var isGiven: Bool { pushSim || pushSimData != nil }

    func folder(_ data: DataOptions) -> String { pushSimData ?? data.simulatorFolder }
}
