import AdminServer
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
            Without options the server listens on 127.0.0.1:7350, keeps its store and its secrets in the data folder, \
            and sends no pushes: a call to an offline device ends at once with no_devices. Options take precedence \
            over environment variables (REVEILLE_LISTEN_PORT), and these over the configuration file. `reveille \
            config reference` prints all settings. SIGHUP reloads the configuration without ending a session.

              reveille serve
              reveille serve --push-sim
              reveille serve --config /etc/reveille/reveille.yaml
              reveille serve --apns-key AuthKey_ABC123DEFG.p8 --apns-key-id ABC123DEFG --apns-team-id DEF123GHIJ
              reveille serve --apns-certificate voip.pem --fcm-service-account firebase.json
            """)

    @OptionGroup var options: ServeOptions
    @OptionGroup var lifeline: LifelineOptions

    func run() async throws {
        // First of all: a SIGHUP that comes while the server starts is one that it takes up afterwards.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        lifeline.watch()
        let loader = options.settings
        let loaded = try load(loader)
        let log = try openLog(loaded.settings)
        let logger = log.logger("reveille")
        var configuration: ServerConfiguration
        do {
            configuration = try loaded.serverConfiguration()
        } catch {
            throw Self.refused(error, log, logger)
        }
        configuration.adminHooks = Self.hooks(log.levels)
        configuration.logLinesDropped = { log.linesDropped }
        configuration.logFailure = { log.failure }
        for warning in loaded.warningsToLog { logger.warning("\(warning)") }
        do {
            try provideDescriptors(&configuration, isAsked: loaded.settings.isSet(.connections), logger)
            let service = ServerService(
                configuration: configuration, settings: loaded, loader: loader, hangups: hangups,
                setLogLevel: { log.levels.set($0) }, log: logger)
            try await Foreground.run(service, log: logger)
        } catch {
            guard log.writesJSON, let words = Terminal.words(of: error) else { throw error }
            logger.critical("\(words)")
            throw Exit.unavailable
        }
    }

    private func load(_ loader: SettingsLoader) throws -> LoadedSettings {
        do {
            return try loader.load()
        } catch {
            // The file may have said otherwise, and cannot be read.
            let log = try? ServerLog.standardError(format: options.logFormat ?? .auto)
            guard let log, log.writesJSON, let words = Terminal.words(of: error) else {
                throw error
            }
            log.logger("reveille").critical("\(words)")
            throw Exit.unavailable
        }
    }

    /// Says why the settings cannot be used: what the command line says wrongly as every command does, other faults to
    /// programs in lines of the log.
    private static func refused(_ invalid: InvalidSettings, _ log: ServerLog, _ logger: Logger) -> any Error {
        guard log.writesJSON, !invalid.isOfCommandLine else { return Terminal.refused(invalid) }
        for fault in invalid.faults { logger.critical("\(fault)") }
        return Exit.unavailable
    }

    private func openLog(_ settings: EffectiveSettings) throws -> ServerLog {
        // The settings have checked both.
        return try ServerLog.standardError(
            level: settings.logLevel ?? .info, format: LogFormat(rawValue: settings.logFormat) ?? .auto)
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

    /// Each connection takes a descriptor. With fewer than the standard limit needs there are fewer connections, which is no
    /// news; with fewer than somebody has asked for it is.
    /// - Throws: ``DescriptorLimit/TooFew``: what fails first then, and in which words, is a matter of chance.
    private func provideDescriptors(
        _ configuration: inout ServerConfiguration, isAsked: Bool, _ logger: Logger
    ) throws(DescriptorLimit.TooFew) {
        let needed = DescriptorLimit.needed(forConnections: configuration.maxConnections)
        let descriptors = DescriptorLimit.set(to: needed)
        guard descriptors >= DescriptorLimit.fewest else { throw DescriptorLimit.TooFew(limit: descriptors) }
        let connections = min(configuration.maxConnections, DescriptorLimit.connections(within: descriptors))
        logger.info(
            "connection limit",
            metadata: [
                "connections": .stringConvertible(connections),
                "descriptors": .stringConvertible(descriptors),
            ])
        configuration.maxConnections = connections
        guard descriptors < needed else { return }
        logger.log(
            level: isAsked ? .warning : .debug,
            """
            limits.connections needs more file descriptors than this process may have: raise its hard limit (ulimit -Hn, \
            LimitNOFILE), or lower limits.connections
            """,
            metadata: [
                "connections": .stringConvertible(connections), "descriptors": .stringConvertible(descriptors),
                "needed": .stringConvertible(needed),
            ])
    }
}
