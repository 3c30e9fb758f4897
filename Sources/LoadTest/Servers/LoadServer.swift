import AdminProtocol
import CallServer
import CallStore
import CallVocabulary
import Foundation
import LibWebSockets
import StoreInterface

/// The server under load, and the push simulator that belongs to it. Any thread.
final class LoadServer: Sendable {
    /// `ws://` or `wss://`.
    let url: String
    /// Which certificates it may show.
    let trust: LWSContext.Trust
    let tokens: LoadTokens
    /// The data folder of the push simulator it pushes to; nil without one.
    let simulatorFolder: String?
    /// nil without an admin API.
    let groups: LoadGroups?
    private let admin: LoadAdmin?
    /// nil for a server that ran before.
    private let own: OwnProcesses?
    /// The audit before the run, and its time; nil for the run's own server, and without an admin API.
    private let before: (books: AuditView, at: Instant)?
    /// How far the clock of a target may be behind.
    private static let clockTolerance = Duration.seconds(60)
    private let metricsClient: MetricsClient

    /// How long the run's own server took until it listened; nil for a target.
    var startTime: Duration? { own?.server.startTime }

    /// The kills of the home, of a run that kills it.
    var kills: RunRealm.Kills? { if case .realm(let realm, _)? = own?.server { realm.kills } else { nil } }

    /// Kills the home again and again until the task is cancelled. Returns at once for a run that does not.
    func disturb() async {
        guard case .realm(let realm, _)? = own?.server, let interval = own?.killsEvery else { return }
        await realm.kill(every: interval)
    }

    private struct OwnProcesses {
        let folder: RunFolder
        let server: OwnServers
        /// A realm of the run's own, to be removed.
        let realm: PostgresAddress?
        /// How often the home is killed.
        let killsEvery: Duration?
        let simulator: SimulatorProcess?
    }

    private init(
        url: String, caFile: String?, tokens: LoadTokens, simulatorFolder: String?, admin: LoadAdmin?,
        own: OwnProcesses?, before: (books: AuditView, at: Instant)? = nil, metrics: MetricsClient
    ) {
        self.url = url
        trust = caFile.map { .file($0) } ?? .system
        self.tokens = tokens
        self.simulatorFolder = simulatorFolder
        self.admin = admin
        groups = admin.map(LoadGroups.init)
        self.own = own
        self.before = before
        metricsClient = metrics
    }

    /// Starts the run's own server, or takes the target.
    /// - Throws: ``LoadError``, with nothing left behind.
    static func start(_ plan: LoadPlan) async throws -> LoadServer {
        switch plan.target {
        case .own(let own): return try await start(own, plan)
        case .running(let running):
            guard !plan.needsPushes || running.simulatorFolder != nil else {
                throw LoadError(
                    "\(plan.scenario.rawValue) wakes phones by pushes: name the data folder of the push simulator that "
                        + "the server pushes to")
            }
            let admin = try running.admin.map { try LoadAdmin($0, caFile: running.caFile) }
            let began = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
            let books = try await admin?.audit()
            let metricsURL = if let named = running.metricsURL { named } else { try await admin?.metricsURL() }
            return LoadServer(
                url: running.url, caFile: running.caFile, tokens: try await LoadTokens(secretFile: running.secretFile),
                simulatorFolder: running.simulatorFolder,
                admin: admin, own: nil, before: books.map { ($0, began) },
                metrics: try MetricsClient(
                    url: metricsURL, server: running.url, caFile: running.caFile))
        }
    }

    private static func start(_ own: LoadTarget.OwnServer, _ plan: LoadPlan) async throws -> LoadServer {
        let folder = try RunFolder(in: own.dataFolder)
        var simulator: SimulatorProcess?
        var server: OwnServers?
        do {
            if plan.needsPushes {
                simulator = try await .start(executable: own.executable, folder: folder.path, seed: plan.seed)
            }
            if plan.registered > 0 {
                let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
                let data = DataFolder(path: ServerProcess.data(in: folder.path))
                try RegisteredDevices.write(
                    plan.registered, to: own.store.map { .database($0) } ?? .folder(data), at: now)
            }
            let started = try await OwnServers.start(
                own, limits: plan.serverLimits, folder: folder.path, simulator: simulator?.folder)
            server = started
            return LoadServer(
                url: started.url, caFile: started.caFile,
                tokens: try await LoadTokens(secretFile: started.folder + "/client-token.key"),
                simulatorFolder: simulator?.folder, admin: try LoadAdmin(.folder(started.folder), caFile: nil),
                own: OwnProcesses(
                    folder: folder, server: started, realm: own.store, killsEvery: own.killsHomeEvery,
                    simulator: simulator),
                metrics: try MetricsClient(url: started.metricsURL, server: started.url, caFile: started.caFile))
        } catch {
            _ = await server?.stop()
            _ = await simulator?.process.stop()
            if let realm = own.store { try? RealmControl(realm).remove() }
            folder.remove()
            throw error
        }
    }

    /// False if the run's own server or simulator has ended by itself.
    var isRunning: Bool { own.map { $0.server.isRunning && $0.simulator?.process.isRunning != false } ?? true }

    // MARK: What it uses

    /// From the kernel; nil for a target.
    func usage() -> ProcessUsage? { own?.server.usage() }

    func simulatorUsage() -> ProcessUsage? { own?.simulator.flatMap { try? ProcessUsage.of($0.process.pid) } }

    /// nil if they cannot be read.
    func metrics() async -> ServerMetrics? { await metricsClient.get() }

    /// Whether the run started it, so that nobody else uses it.
    var isOwn: Bool { own != nil }

    /// The file system of its data; nil for a target and for data in a database.
    var fileSystem: FileSystem? { own.flatMap { $0.realm == nil ? FileSystem(of: $0.server.folder) : nil } }

    /// nil without a push simulator.
    /// - Throws: ``LoadError`` if the simulator does not answer.
    func pushBooks() async throws -> PushBooks? {
        guard let simulatorFolder else { return nil }
        return try await PushBooks(folder: simulatorFolder)
    }

    /// Frees the disk space of logs. Called every second.
    func trimLogs() {
        own?.server.trimLogs()
        own?.simulator?.process.trimLog()
    }

    // MARK: The end

    /// Stops the run's own processes, or deletes the run's groups from a target.
    /// - Returns: failures, for the report.
    func stop() async -> [String] {
        guard let own else { return await removeGroups() }
        // Each may take its time.
        async let server = own.server.stop()
        async let simulator = own.simulator?.process.stop()
        return await server + [await simulator].compactMap { $0 }
    }

    private func removeGroups() async -> [String] {
        do {
            try await groups?.removeAll()
            return []
        } catch {
            return ["\(error)"]
        }
    }

    /// nil without an admin API. After ``stop()``.
    /// - Throws: `StoreFailure` or ``LoadError``.
    func audit() async throws -> ServerAudit? {
        if let own { return ServerAudit(try await own.server.audit()) }
        guard let admin, let before else { return nil }
        let since = before.at + (.zero - Self.clockTolerance)
        return ServerAudit(before: before.books, after: try await admin.audit(since: since))
    }

    /// Removes what was started. After ``stop()``.
    func remove() {
        own?.folder.remove()
        if let realm = own?.realm { try? RealmControl(realm).remove() }
    }
}
