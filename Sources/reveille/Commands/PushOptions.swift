import ArgumentParser
import PushClient
import ServerSettings

/// The push providers with their credentials, or the simulator.
struct PushOptions: ParsableArguments {
    @OptionGroup var simulator: SimulatorOptions
    @OptionGroup var apns: APNSOptions
    @OptionGroup var fcm: FCMOptions
    @Option(
        help: ArgumentHelp(
            "Push to browsers, with this contact for their push services: mailto: or https:.", valueName: "contact"))
    var webpushSubject: String?
    @Option(
        help: ArgumentHelp(
            "The VAPID key (P-256, PEM). Default: webpush.key in the data folder, made when there is none.",
            valueName: "file"), completion: .file())
    var webpushKey: String?
    @Flag(help: "Send missed-call alerts to iPhones through FCM, with tokens mapped from their APNs tokens.")
    var fcmIosAlerts = false
    @Option(
        name: .customLong("push-template"), parsing: .upToNextOption,
        help: ArgumentHelp("JSON files with your own payload profiles.", valueName: "file"),
        completion: .file(extensions: ["json"]))
    var pushTemplates: [String] = []
    @Option(
        help: ArgumentHelp(
            "The payload profile of each app, as topic=profile, separated by commas.", valueName: "pairs"))
    var pushProfiles: String?

    /// The options, for error messages.
    static let credentials = "--apns-key, --apns-certificate, --fcm-service-account, --webpush-subject or --push-sim"

    var flags: SettingFlags {
        var flags = SettingFlags()
        flags.set(.pushSimulator, isGiven: simulator.pushSim)
        flags.set(.pushSimulatorData, simulator.pushSimData)
        flags.set(.apnsKey, apns.apnsKey)
        flags.set(.apnsKeyID, apns.apnsKeyID)
        flags.set(.apnsTeamID, apns.apnsTeamID)
        flags.set(.apnsCertificate, apns.apnsCertificate)
        flags.set(.apnsCertificateKey, apns.apnsCertificateKey)
        flags.set(.apnsPort, apns.apnsPort)
        flags.set(.fcmServiceAccount, fcm.fcmServiceAccount)
        flags.set(.fcmIOSAlerts, isGiven: fcmIosAlerts)
        flags.set(.webPushSubject, webpushSubject)
        flags.set(.webPushKey, webpushKey)
        flags.set(.pushTemplates, pushTemplates)
        flags.set(.pushProfiles, pushProfiles)
        return flags
    }

    /// The configuration of these options, completed as the server would.
    /// - Throws: `ValidationError`, or the exit code after printing the faults.
    func configuration(_ configuration: ConfigurationOptions) throws -> PushService.Configuration {
        let loaded = try configuration.settings(flags).load()
        do {
            return try loaded.pushConfiguration()
        } catch {
            throw Terminal.refused(error)
        }
    }
}
