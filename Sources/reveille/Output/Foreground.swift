import Logging
import ServiceLifecycle
import UnixSignals

/// Runs a service until it ends, or until SIGTERM or SIGINT ask it to.
enum Foreground {
    static func run(_ service: any Service, log: Logger) async throws {
        // The group's own steps are of no interest next to the service's.
        var quiet = log
        quiet.logLevel = max(log.logLevel, .error)
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet)
        ).run()
    }
}
