import ArgumentParser
import CallServer
import EventLoop
import Glibc
import Logging
import PushClient
import ServerLog
import ServerSettings
import UnixSignals

struct ServeCommand: AsyncParsableCommand {
    static let version = CallServer.version

    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the server.",
        discussion: """
            Without options it listens on 127.0.0.1:7350, keeps its store and its secrets in the data folder, and \
            sends no pushes: a call to a device that is offline ends at once with no_devices. Options go before \
            environment variables (REVEILLE_LISTEN_PORT), which go before the configuration file; `reveille config \
            reference` prints all there is to be set. SIGHUP has everything read anew and taken over without ending a \
            session.

              reveille serve
              reveille serve --push-sim
              reveille serve --config /etc/reveille/reveille.yaml
              reveille serve --apns-key AuthKey_ABC.p8 --apns-key-id ABC --apns-team-id DEF
              reveille serve --apns-certificate voip.pem --fcm-service-account firebase.json
            """)

    @OptionGroup var options: ServeOptions
    @OptionGroup var lifeline: LifelineOptions

    func run() async throws {
        // First of all: a SIGHUP that comes while the server starts is one that it takes up afterwards.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        lifeline.watch()
        let loader = options.settings
        let loaded = try loader.loadOrExit()
        var configuration: ServerConfiguration
        do {
            configuration = try loaded.serverConfiguration()
        } catch {
            throw Terminal.refused(error)
        }
        let log = try openLog(loaded.settings)
        let logger = log.logger("reveille")
        configuration.adminHooks = Self.hooks(log.levels)
        configuration.logLinesDropped = { log.linesDropped }
        for warning in loaded.warnings { logger.warning("\(warning)") }
        noteLimits(configuration, logger)
        let service = ServerService(
            configuration: configuration, settings: loaded, loader: loader, hangups: hangups,
            setLogLevel: { log.levels.set($0) }, log: logger)
        do {
            try await Foreground.run(service, log: logger)
        } catch {
            throw Terminal.unavailable(error)
        }
    }

    private func openLog(_ settings: EffectiveSettings) throws -> ServerLog {
        do {
            // The settings have checked both.
            return try ServerLog.standardError(
                level: settings.logLevel ?? .info, format: LogFormat(rawValue: settings.logFormat) ?? .auto)
        } catch {
            throw Terminal.unavailable(error)
        }
    }

    private static func hooks(_ levels: LogLevels) -> AdminHooks {
        AdminHooks(
            setLogLevel: { name in
                if let name {
                    guard let level = Logger.Level(rawValue: name) else { return nil }
                    levels.set(level)
                }
                return levels.level.rawValue
            },
            // The way that an operator's stop goes.
            stop: { kill(getpid(), SIGTERM) })
    }

    private func noteLimits(_ configuration: ServerConfiguration, _ logger: Logger) {
        let needed = DescriptorLimit.needed(forConnections: configuration.maxConnections)
        let descriptors = DescriptorLimit.set(to: needed)
        if descriptors < needed {
            logger.warning(
                """
                limits.connections needs more descriptors than this process may have: raise its hard limit (ulimit -Hn, \
                LimitNOFILE), or lower limits.connections
                """,
                metadata: ["needed": "\(needed)", "descriptors": "\(descriptors)"])
        }
        logger.info(
            "connection limit",
            metadata: [
                "connections": "\(min(configuration.maxConnections, descriptors))", "descriptors": "\(descriptors)",
            ])
        if configuration.push.apns.isEmpty, configuration.push.fcm.isEmpty {
            logger.notice(
                "no pushes: calls to devices that are offline end with no_devices; see --apns-key and --push-sim")
        }
    }
}
