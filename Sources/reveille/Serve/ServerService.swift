import CallServer
import Logging
import ServerSettings
import ServiceLifecycle
import UnixSignals

/// The server from start to stop, for the signals to end, and to have its settings read again.
struct ServerService: Service {
    let configuration: ServerConfiguration
    /// What the configuration was made from.
    let settings: LoadedSettings
    let loader: SettingsLoader
    /// Kept to the end: without it a SIGHUP would end the process.
    let hangups: UnixSignalsSequence
    let setLogLevel: @Sendable (Logger.Level) -> Void
    let log: Logger

    func run() async throws {
        let server = try await CallServer.start(configuration, log: log)
        let reloader = SettingsReloader(loader, current: settings, log: log, setLogLevel: setLogLevel) {
            try await server.reload($0)
        }
        for await _ in hangups.cancelOnGracefulShutdown() { await reloader.reload() }
        await server.stop()
    }
}
