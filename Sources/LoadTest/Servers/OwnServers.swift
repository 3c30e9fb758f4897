import CallServer
import StoreInterface

/// What a run has started as its server: one, or two of a realm. Any thread.
enum OwnServers: Sendable {
    case one(ServerProcess)
    case realm(RunRealm, PostgresAddress)

    static func start(
        _ own: LoadTarget.OwnServer, limits: [String: Int], folder: String, simulator: String?
    ) async throws -> OwnServers {
        guard own.killsHomeEvery != nil, let database = own.store else {
            return .one(try await .start(own, limits: limits, folder: folder, simulator: simulator))
        }
        let arguments = try ServerProcess.arguments(own, limits: limits, folder: folder, simulator: simulator)
        return .realm(try await .start(own, in: database, arguments: arguments, folder: folder), database)
    }

    var url: String {
        switch self {
        case .one(let server): server.url
        case .realm(let realm, _): realm.url
        }
    }

    /// nil for a realm: counters begin again with each home.
    var metricsURL: String? {
        switch self {
        case .one(let server): server.metricsURL
        case .realm: nil
        }
    }

    var caFile: String? {
        switch self {
        case .one(let server): server.caFile
        case .realm: nil
        }
    }

    /// The data folder of the server; of a realm, that of its home, whose admin API answers.
    var folder: String {
        switch self {
        case .one(let server): server.folder
        case .realm(let realm, _): realm.home
        }
    }

    var startTime: Duration {
        switch self {
        case .one(let server): server.startTime
        case .realm(let realm, _): realm.startTime
        }
    }

    /// Whether the server runs; of a realm, whether HAProxy runs and every kill has succeeded.
    var isRunning: Bool {
        switch self {
        case .one(let server): server.process.isRunning
        case .realm(let realm, _): realm.isRunning
        }
    }

    /// nil for a realm: what a killed server has used is lost with it.
    func usage() -> ProcessUsage? {
        switch self {
        case .one(let server): try? ProcessUsage.of(server.process.pid)
        case .realm: nil
        }
    }

    func trimLogs() {
        switch self {
        case .one(let server): server.process.trimLog()
        case .realm(let realm, _): realm.trimLogs()
        }
    }

    /// - Returns: failures, for the report.
    func stop() async -> [String] {
        switch self {
        case .one(let server): [await server.process.stop()].compactMap { $0 }
        case .realm(let realm, _): await realm.stop()
        }
    }

    /// Audits the store. After ``stop()``.
    func audit() async throws -> StoreAudit {
        switch self {
        case .one(let server): try await server.audit()
        case .realm(_, let database): try await StorePlace.database(database).withQueries { try await $0.audit() }
        }
    }
}
