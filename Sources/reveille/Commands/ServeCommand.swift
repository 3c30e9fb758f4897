import ArgumentParser
import CallCore
import CallServer
import CallVocabulary
import Demo
import EventLoop
import Foundation
import Logging
import PushClient
import ServiceLifecycle

struct ServeCommand: AsyncParsableCommand {
    static let version = CallServer.version

    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the server.",
        discussion: """
            Without options it listens on 127.0.0.1:7350, keeps its store and its secrets in the data folder, and sends no
            pushes: a call to a device that is offline ends at once with no_devices.

              reveille serve
              reveille serve --push-sim
              reveille serve --apns-key AuthKey_ABC.p8 --apns-key-id ABC --apns-team-id DEF
              reveille serve --apns-certificate voip.pem --fcm-service-account firebase.json
            """)

    @Option(help: "The numeric address to listen on.")
    var host = "127.0.0.1"
    @Option(help: "The port to listen on; 0 lets the system choose.")
    var port: UInt16 = ServerConfiguration.standardPort
    @OptionGroup var data: DataOptions
    @Option(help: "Threads that carry connections.")
    var shards = ServerConfiguration.standardShards
    @Option(help: "Connections at most.")
    var maxConnections = 100_000
    @Option(help: "Messages a second that a connection may send in the long run; a burst may be four times as many.")
    var messagesPerSecond = 100
    @Option(help: "How long a call rings when the caller does not say, in seconds (5 to 180).")
    var ringSeconds: Int = 45
    @Option(help: "Which push tells offline devices of a missed call; not for users whose policy was ever set.")
    var missedCalls = MissedCallPush.off

    @OptionGroup var push: PushOptions

    @Flag(help: "Listen beyond this machine without TLS. Put a proxy that does TLS in front.")
    var insecure = false
    @OptionGroup var log: LogOptions

    func validate() throws {
        guard let address = SocketAddress(host: host, port: port) else {
            throw ValidationError("--host takes a numeric address such as 127.0.0.1 or ::1, not '\(host)'.")
        }
        guard address.isLoopback || insecure else {
            throw ValidationError(
                "\(host) can be reached from other machines and this listener speaks plain ws://. "
                    + "Put a TLS proxy in front and say --insecure, or listen on 127.0.0.1.")
        }
        guard (1...64).contains(shards) else { throw ValidationError("--shards is 1 to 64.") }
        guard maxConnections > 0 else { throw ValidationError("--max-connections is at least 1.") }
        guard (1...10_000_000).contains(messagesPerSecond) else {
            throw ValidationError("--messages-per-second is 1 to 10000000.")
        }
        guard (5...180).contains(ringSeconds) else { throw ValidationError("--ring-seconds is 5 to 180.") }
    }

    func run() async throws {
        let logger = log.logger("reveille")
        let descriptors = DescriptorLimit.raise()
        logger.info(
            "connection limit",
            metadata: ["connections": "\(min(maxConnections, descriptors))", "descriptors": "\(descriptors)"])
        do {
            let service = ServerService(configuration: try serverConfiguration(logger), log: logger)
            try await Foreground.run(service, log: logger)
        } catch {
            throw Terminal.unavailable(error)
        }
    }

    private func serverConfiguration(_ logger: Logger) throws -> ServerConfiguration {
        // `validate` has checked it.
        var configuration = ServerConfiguration(
            address: SocketAddress(host: host, port: port)!, data: data.folder, shards: shards)
        configuration.maxConnections = maxConnections
        configuration.connectionLimits.messagesPerSecond = Double(messagesPerSecond)
        configuration.connectionLimits.burst = Double(4 * messagesPerSecond)
        configuration.timers.ring = .seconds(ringSeconds)
        configuration.policy.missedCalls = missedCalls
        configuration.push = try push.configuration(data)
        if !push.isGiven {
            logger.notice(
                "no pushes: calls to devices that are offline end with no_devices; see --apns-key and --push-sim")
        }
        return configuration
    }
}

/// The server from start to stop, for the signals to end.
private struct ServerService: Service {
    let configuration: ServerConfiguration
    let log: Logger

    func run() async throws {
        let server = try await CallServer.start(configuration, log: log)
        try await gracefulShutdown()
        await server.stop()
    }
}
