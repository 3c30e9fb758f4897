import ArgumentParser
import Demo
import PushClient

/// The credentials for FCM.
struct FCMOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The service account key (JSON) from the Firebase console.",
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

/// The push simulator, for commands that use it in place of a provider.
struct SimulatorOptions: ParsableArguments {
    @Flag(help: "Use the simulator on this machine (reveille push-sim).")
    var pushSim = false
    @Option(
        help: ArgumentHelp(
            "The simulator's data folder. Default: push-sim in the server's data folder.", valueName: "folder"),
        completion: .directory)
    var pushSimData: String?

    var isGiven: Bool { pushSim || pushSimData != nil }

    func folder(_ data: DataOptions) -> String { pushSimData ?? data.simulatorFolder }
}
