import Logging
import ServiceLifecycle
import UnixSignals

/// Runs a service until it ends, or until SIGTERM or SIGINT ask it to.
enum Foreground {
    static func run(_ service: any Service, log: Logger) async throws {
        try await ServiceGroup(configuration: configuration(of: service, log: log)).run()
    }

    static func configuration(of service: any Service, log: Logger) -> ServiceGroupConfiguration {
        // The group's own steps are of no interest next to the service's.
        var quiet = log
        quiet.logLevel = max(log.logLevel, .error)
        // Without a name, the configuration makes one with "\(service)" (swift-service-lifecycle 2.13.0): reflection over
        // all settings and web pages of a server, which takes 0.7 s of CPU.
        let named = ServiceGroupConfiguration.ServiceConfiguration(
            service: service, successTerminationBehavior: .gracefullyShutdownGroup,
            serviceName: "\(type(of: service))")
        return ServiceGroupConfiguration(
            services: [named], gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet)
    }
}
