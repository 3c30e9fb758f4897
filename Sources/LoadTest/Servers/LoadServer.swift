import AdminProtocol
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
    /// The groups that the load sets there; nil where nobody has said how to get to its admin API.
    let groups: LoadGroups?
    private let admin: LoadAdmin?
    /// nil for a server that ran before.
    private let own: OwnProcesses?
    /// Its books before the run, and when that was; nil for a server of its own, and where there is no way to them.
    private let before: (books: AuditView, at: Instant)?
    /// The clock of a server elsewhere may be so far behind.
    private static let clockTolerance = Duration.seconds(60)
    private let metricsClient: MetricsClient

    private struct OwnProcesses {
        let folder: RunFolder
        let server: ServerProcess
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

    /// Starts a server of its own, or finds the one that runs.
    /// - Throws: ``LoadError``; nothing is left then.
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
        var server: ServerProcess?
        do {
            if plan.needsPushes {
                simulator = try await .start(executable: own.executable, folder: folder.path, seed: plan.seed)
            }
            let started = try await ServerProcess.start(
                own, limits: plan.serverLimits, folder: folder.path, simulator: simulator?.folder)
            server = started
            return LoadServer(
                url: started.url, caFile: started.caFile,
                tokens: try await LoadTokens(secretFile: started.folder + "/client-token.key"),
                simulatorFolder: simulator?.folder, admin: try LoadAdmin(.folder(started.folder), caFile: nil),
                own: OwnProcesses(folder: folder, server: started, simulator: simulator),
                metrics: try MetricsClient(url: started.metricsURL, server: started.url, caFile: started.caFile))
        } catch {
            _ = await server?.process.stop()
            _ = await simulator?.process.stop()
            folder.remove()
            throw error
        }
    }

    /// False when a server or a simulator of its own has ended by itself.
    var isRunning: Bool { own.map { $0.server.process.isRunning && $0.simulator?.process.isRunning != false } ?? true }

    // MARK: What it uses

    /// What its process has used so far, as the kernel counts it; nil where that cannot be known.
    func usage() -> ProcessUsage? { own.flatMap { try? ProcessUsage.of($0.server.process.pid) } }

    /// The same of the push simulator.
    func simulatorUsage() -> ProcessUsage? { own?.simulator.flatMap { try? ProcessUsage.of($0.process.pid) } }

    /// What it says of itself; nil when it does not.
    func metrics() async -> ServerMetrics? { await metricsClient.get() }

    /// Whether it was started for this test, and nobody else uses it.
    var isOwn: Bool { own != nil }

    /// What its data lies on; nil where that is another's.
    var fileSystem: FileSystem? { own.flatMap { FileSystem(of: $0.server.folder) } }

    /// Opens the books of its push simulator; nil without one.
    /// - Throws: ``LoadError`` when the simulator does not answer.
    func pushBooks() async throws -> PushBooks? {
        guard let simulatorFolder else { return nil }
        return try await PushBooks(folder: simulatorFolder)
    }

    /// Keeps the logs of what was started small. To be called every now and then.
    func trimLogs() {
        own?.server.process.trimLog()
        own?.simulator?.process.trimLog()
    }

    // MARK: The end

    /// Stops what was started, and takes away from a server that goes on what it would not lose by itself.
    /// - Returns: what went wrong, for the report.
    func stop() async -> [String] {
        guard let own else { return await removeGroups() }
        // Each may take its time.
        async let server = own.server.process.stop()
        async let simulator = own.simulator?.process.stop()
        return [await server, await simulator].compactMap { $0 }
    }

    private func removeGroups() async -> [String] {
        do {
            try await groups?.removeAll()
            return []
        } catch {
            return ["\(error)"]
        }
    }

    /// Its books; nil where there is no way to them. After ``stop()``.
    /// - Throws: `StoreFailure`, or ``LoadError`` when it does not say any more.
    func audit() async throws -> ServerAudit? {
        if let own { return ServerAudit(try await own.server.audit()) }
        guard let admin, let before else { return nil }
        let since = before.at + (.zero - Self.clockTolerance)
        return ServerAudit(before: before.books, after: try await admin.audit(since: since))
    }

    /// Removes what was started. After ``stop()``.
    func remove() { own?.folder.remove() }
}
