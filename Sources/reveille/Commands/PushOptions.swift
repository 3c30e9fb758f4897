import ArgumentParser
import Demo
import PushClient

/// Where pushes go, and with what credentials: Apple and Google, or the simulator.
struct PushOptions: ParsableArguments {
    @OptionGroup var simulator: SimulatorOptions
    @OptionGroup var apns: APNSOptions
    @OptionGroup var fcm: FCMOptions
    @Flag(help: "Tell iPhones of missed calls through FCM, by tokens mapped from their APNs tokens.")
    var fcmIosAlerts = false

    /// The options, for an error that asks for one of them.
    static let credentials = "--apns-key, --apns-certificate, --fcm-service-account or --push-sim"

    var isGiven: Bool { simulator.isGiven || apns.isGiven || fcm.fcmServiceAccount != nil }

    func validate() throws {
        guard !simulator.isGiven || !(apns.isGiven || fcm.fcmServiceAccount != nil) else {
            throw ValidationError("Either --push-sim or the credentials of Apple and Google, not both.")
        }
    }

    /// Checked as a whole.
    /// - Throws: `PushConfigurationError` or `ValidationError`, which name the file, field and reason; `NoSimulator`.
    func configuration(_ data: DataOptions) throws -> PushService.Configuration {
        var push =
            if simulator.isGiven {
                try PushService.Configuration.simulator(folder: simulator.folder(data))
            } else {
                PushService.Configuration(apns: try apns.endpoints(), fcm: try fcm.endpoint().map { [$0] } ?? [])
            }
        push.mapsIOSAlerts = fcmIosAlerts
        push.credentialsHint = "start the server with \(Self.credentials)"
        try push.check()
        return push
    }
}
