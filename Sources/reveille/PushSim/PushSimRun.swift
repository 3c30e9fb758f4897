import ArgumentParser
import Foundation
import Logging
import PushSimulator
import ServerLog
import ServiceLifecycle

struct PushSimRun: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the simulator until it is stopped. This is the default of push-sim.",
        discussion: """
              reveille push-sim
              reveille push-sim run --seed 7 --rtt-ms 100
            """)

    @OptionGroup var options: PushSimOptions
    @Option(help: "The address to listen on, numeric or localhost.") var host = "127.0.0.1"
    @Option(help: "The port of APNs' production environment; 0 lets the system choose.") var port: UInt16 = 2197
    @Option(help: "The port of APNs' sandbox environment; 0 lets the system choose.") var sandboxPort: UInt16 = 2198
    @Option(help: "The port of FCM; 0 lets the system choose.") var fcmPort = PushSimulatorConfiguration.standardFCMPort
    @Option(
        name: .customLong("webpush-port"),
        help: ArgumentHelp(
            "The port of the Web Push service; 0 lets the system choose.",
            discussion: "Default: 2200, or 0 if --port is 0.", valueName: "port"))
    var webPushPort: UInt16?
    @Option(help: "The app's bundle identifier; VoIP pushes go to its .voip topic.") var topic = "org.reveille.phone"
    @Option(help: "The Firebase project.") var project = "reveille-phone"
    @Flag(help: "Accept device tokens that the simulator never issued. Their pushes reach no phone.")
    var acceptUnknownTokens = false
    @Option(help: "The seed of device tokens, fault rates and jitter, to repeat a run.")
    var seed: UInt64?
    @Option(help: ArgumentHelp("The simulated round-trip time.", valueName: "ms")) var rttMs = 0
    @Flag(help: "After a refused provider token, limit its connection to one stream.")
    var limitStreamsAfterRejection = false
    @Option(help: ArgumentHelp("Close a connection after this number of bad device tokens.", valueName: "n"))
    var closeAfterBadTokens: Int?
    @Option(help: ArgumentHelp("Background pushes per hour that iOS delivers to an app.", valueName: "n"))
    var backgroundPushes = SimulatedIPhone.backgroundPushesAnHour
    @OptionGroup var log: LogOptions
    @OptionGroup var lifeline: LifelineOptions

    func validate() throws {
        guard (0...60_000).contains(rttMs) else { throw ValidationError("--rtt-ms is 0 to 60000.") }
        guard closeAfterBadTokens ?? 1 > 0 else { throw ValidationError("--close-after-bad-tokens is 1 or more.") }
        guard backgroundPushes > 0 else { throw ValidationError("--background-pushes is 1 or more.") }
    }

    func run() async throws {
        lifeline.watch()
        let logger = try log.open().logger("push-sim")
        var configuration = PushSimulatorConfiguration(
            folder: options.folder, host: host, productionPort: port, sandboxPort: sandboxPort, fcmPort: fcmPort,
            project: project, topic: topic, logger: logger)
        configuration.webPushPort = webPushPort
        configuration.acceptsUnknownTokens = acceptUnknownTokens
        configuration.seed = seed
        configuration.roundTrip = .milliseconds(rttMs)
        configuration.limitsStreamsAfterRejection = limitStreamsAfterRejection
        configuration.closesAfterBadTokens = closeAfterBadTokens
        configuration.backgroundPushes = backgroundPushes
        let service = SimulatorService(configuration: configuration)
        try await Foreground.run(service, log: logger)
    }
}

private struct SimulatorService: Service {
    let configuration: PushSimulatorConfiguration

    func run() async throws {
        let simulator = try PushSimulator(configuration: configuration)
        try await simulator.start()
        configuration.logger.info(
            "ready: start the server with --push-sim", metadata: ["data": .string("\(configuration.folder)")])
        try await gracefulShutdown()
        await simulator.stop()
    }
}
