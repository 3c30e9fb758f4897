import CallServer
import Logging
import ServerSettings
import ServiceLifecycle
import Synchronization
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

    private final class LastReload: Sendable {
        /// Whether its settings were refused.
        let isRefused = Atomic(false)
        /// Of the last reload that was not refused, or of the start.
        let files = Mutex<[NamedFile]>([])
    }

    private let lastReload = LastReload()

    func run() async throws {
        var configuration = self.configuration
        configuration.hasRefusedReload = { [lastReload] in lastReload.isRefused.load(ordering: .relaxed) }
        lastReload.files.withLock { $0 = settings.namedFiles }
        configuration.missingFiles = { [lastReload] in
            lastReload.files.withLock { $0 }.filter(\.isMissing).map { (setting: $0.setting, path: $0.path) }
        }
        if configuration.database == nil {
            let server = try await CallServer.start(configuration, log: log)
            await reload { reload, _ in try await server.reload(reload) }
            await server.stop()
        } else {
            let server = try await RealmServer.start(configuration, log: log)
            await reload { try await server.reload($0, $1) }
            await server.stop()
        }
    }

    /// Applies changed settings until the process is to stop.
    private func reload(_ apply: @escaping @Sendable (ServerReload, ServerConfiguration) async throws -> Void) async {
        let reloader = SettingsReloader(
            loader, current: settings, log: log, setLogLevel: setLogLevel, apply: apply)
        for await _ in hangups.cancelOnGracefulShutdown() {
            let isTaken = await reloader.reload()
            lastReload.isRefused.store(!isTaken, ordering: .relaxed)
            let files = await reloader.namedFiles
            lastReload.files.withLock { $0 = files }
        }
    }
}
