import ArgumentParser
import Foundation
import Logging
import PushSimulator
import ServiceLifecycle
import UnixSignals

struct PushSimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-sim",
        abstract: "Run a stand-in for Apple's push service and the iPhones behind it.",
        discussion: """
            HTTP/2 over TLS on two ports, production and sandbox, with a certificate authority and a signing key of its
            own in its data folder. It checks requests as APNs does, and phones attach to it with `reveille phone --asleep`.

              reveille push-sim
              reveille serve --push-sim
            """)

    @OptionGroup var data: DataOptions
    @Option(help: ArgumentHelp("The simulator's own folder; default push-sim in the server's.", valueName: "folder"))
    var pushSimData: String?
    @Option(help: "The numeric address to listen on.") var host = "127.0.0.1"
    @Option(help: "The port of the production environment; 0 lets the system choose.") var port: UInt16 = 2197
    @Option(help: "The port of the sandbox environment; 0 lets the system choose.") var sandboxPort: UInt16 = 2198
    @Option(help: "The app's bundle identifier; VoIP pushes go to its .voip topic.") var topic = "org.reveille.phone"
    @Flag(help: "Take device tokens that it never issued, for phones that are never reached.")
    var acceptUnknownTokens = false
    @OptionGroup var log: LogOptions

    func run() async throws {
        let logger = log.logger("push-sim")
        let folder = pushSimData ?? data.simulatorFolder
        do {
            let service = SimulatorService(
                configuration: PushSimulatorConfiguration(
                    folder: folder, host: host, productionPort: port, sandboxPort: sandboxPort, topic: topic,
                    acceptsUnknownTokens: acceptUnknownTokens, logger: logger))
            var quiet = logger
            quiet.logLevel = max(log.logLevel, .error)
            try await ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
                    gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet)
            ).run()
        } catch {
            throw Terminal.unavailable(error)
        }
    }
}

private struct SimulatorService: Service {
    let configuration: PushSimulatorConfiguration

    func run() async throws {
        let simulator = try PushSimulator(configuration: configuration)
        try await simulator.start()
        configuration.logger.info(
            "ready: start the server with --push-sim", metadata: ["data": "\(configuration.folder)"])
        try await gracefulShutdown()
        await simulator.stop()
    }
}
