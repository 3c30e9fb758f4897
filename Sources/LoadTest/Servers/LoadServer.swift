import CallStore

/// The server under load, and the push simulator that belongs to it. Any thread.
final class LoadServer: Sendable {
    /// `ws://` or `wss://`.
    let url: String
    let tokens: LoadTokens
    /// The data folder of the push simulator it pushes to; nil without one.
    let simulatorFolder: String?
    /// nil where nobody has said how to get there.
    let admin: LoadAdmin?
    /// nil for a server that ran before.
    private let own: OwnProcesses?
    /// nil where there is no address to ask at.
    private let metricsClient: MetricsClient?

    private struct OwnProcesses {
        let folder: RunFolder
        let server: ServerProcess
        let simulator: SimulatorProcess?
    }

    private init(
        url: String, tokens: LoadTokens, simulatorFolder: String?, admin: LoadAdmin?, own: OwnProcesses?,
        metrics: MetricsClient?
    ) {
        self.url = url
        self.tokens = tokens
        self.simulatorFolder = simulatorFolder
        self.admin = admin
        self.own = own
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
            return LoadServer(
                url: running.url, tokens: try await LoadTokens(secretFile: running.secretFile),
                simulatorFolder: running.simulatorFolder,
                admin: try running.dataFolder.map { try LoadAdmin(dataFolder: $0) }, own: nil,
                metrics: try MetricsClient(url: running.metricsURL, server: running.url))
        }
    }

    private static func start(_ own: LoadTarget.OwnServer, _ plan: LoadPlan) async throws -> LoadServer {
        let folder = try RunFolder()
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
                url: started.url, tokens: try await LoadTokens(secretFile: started.folder + "/client-token.key"),
                simulatorFolder: simulator?.folder, admin: try LoadAdmin(dataFolder: started.folder),
                own: OwnProcesses(folder: folder, server: started, simulator: simulator),
                metrics: try MetricsClient(url: nil, server: started.url))
        } catch {
            _ = await server?.stop()
            _ = await simulator?.stop()
            folder.remove()
            throw error
        }
    }

    /// False when a server or a simulator of its own has ended by itself.
    var isRunning: Bool { own.map { $0.server.isRunning && $0.simulator?.isRunning != false } ?? true }

    // MARK: What it uses

    /// What its process has used so far, as the kernel counts it; nil where that cannot be known.
    func usage() -> ProcessUsage? { own.flatMap { try? ProcessUsage.of($0.server.pid) } }

    /// The same of the push simulator.
    func simulatorUsage() -> ProcessUsage? { own?.simulator.flatMap { try? ProcessUsage.of($0.pid) } }

    /// What it says of itself; nil when it does not.
    func metrics() async -> ServerMetrics? { await metricsClient?.get() }

    /// Whether it was started for this test, and nobody else uses it.
    var isOwn: Bool { own != nil }

    /// Opens the books of its push simulator; nil without one.
    /// - Throws: ``LoadError`` when the simulator does not answer.
    func pushBooks() async throws -> PushBooks? {
        guard let simulatorFolder else { return nil }
        return try await PushBooks(folder: simulatorFolder)
    }

    // MARK: The end

    /// Stops what was started.
    /// - Returns: what went wrong, for the report.
    func stop() async -> [String] {
        guard let own else { return [] }
        return [await own.server.stop(), await own.simulator?.stop()].compactMap { $0 }
    }

    /// The books of a server of its own; nil for another one. After ``stop()``.
    func audit() throws -> StoreAudit? { try own?.server.audit() }

    /// Removes what was started. After ``stop()``.
    func remove() { own?.folder.remove() }
}
