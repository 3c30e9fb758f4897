import CallCore
import CallStore
import Foundation
import Logging
import PostgresStore
import RecordTables
import StoreInterface

/// The open store of a server.
struct ServerStore: Sendable {
    /// The state that the last process left.
    let recovered: RecoveredState
    let recordLog: any RecordLog
    /// Queries for the core, which requests wait for: calls and users that are not in its memory.
    let lookUps: any StoreQueries
    /// Queries for pages of users' histories, and for what the core has read in the background.
    let queries: any StoreQueries
    /// Queries for administrators, whose audits of millions of pushes must not delay clients' queries.
    let adminQueries: any StoreQueries
    /// The lease of the realm as its home; nil in a folder.
    var homeLease: HomeLease?

    /// Of the connections that read, in the order of the members.
    private static let threads = ["look-ups", "history", "admin reads"]

    /// - Throws: `StoreFailure`; nothing is left open then.
    static func open(_ configuration: ServerConfiguration, log: Logger) async throws(StoreFailure) -> ServerStore {
        if let database = configuration.database { return try await open(database, configuration, log) }
        let folder = configuration.data.path
        let store = try openStore(folder, log)
        let recovered = try store.recover()
        var opened: [any StoreQueries] = []
        do throws(StoreFailure) {
            for thread in threads { opened.append(try SQLiteQueries.open(folder: folder, thread: thread)) }
            let committer = try GroupCommitter(
                store: store, onHealth: { noteHealth($0, log) },
                onCheckpoint: { failure in
                    guard let failure else { return log.notice("checkpoints succeed again") }
                    log.error(
                        "checkpoints fail: the write-ahead log grows until the disk is full",
                        metadata: ["error": .string("\(failure)")])
                })
            return ServerStore(
                recovered: recovered, recordLog: committer, lookUps: opened[0], queries: opened[1],
                adminQueries: opened[2])
        } catch {
            for queries in opened { await queries.close() }
            throw error
        }
    }

    /// Opens the store in a database, and becomes the home of its realm.
    private static func open(
        _ database: PostgresAddress, _ configuration: ServerConfiguration, _ log: Logger
    ) async throws(StoreFailure) -> ServerStore {
        let store =
            if let node = configuration.realmNode {
                // A standby waits for the lease.
                try PostgresStore.open(database, node, patience: .zero)
            } else {
                try PostgresStore.open(database, configuration.ownNode)
            }
        let homeLease = HomeLease(store, in: database)
        for warning in try store.warnings() { log.warning("the database: \(warning)") }
        let recovered = try store.recover()
        var opened: [any StoreQueries] = []
        do throws(StoreFailure) {
            // A request waits for two seconds, a page for longer, an audit for minutes.
            for (thread, seconds) in zip(threads, [5, 30, 600]) {
                opened.append(
                    try PostgresQueries.open(
                        database, thread: thread, waits: false, patience: .seconds(seconds)))
            }
            let committer = try PostgresCommitter(store: store, onHealth: { noteHealth($0, log) })
            return ServerStore(
                recovered: recovered, recordLog: committer, lookUps: opened[0], queries: opened[1],
                adminQueries: opened[2], homeLease: homeLease)
        } catch {
            for queries in opened { await queries.close() }
            throw error
        }
    }

    /// Whether the store has a device or an event, so that it is not a new server's; true for one that cannot be read.
    var hasUsers: Bool {
        get async {
            do throws(StoreFailure) {
                let devices = try await queries.devices(DeviceFilter(limit: 1))
                let last = try await queries.lastEvent()
                return !devices.isEmpty || last > 0
            } catch {
                return true
            }
        }
    }

    private static func noteHealth(_ failure: StoreFailure?, _ log: Logger) {
        guard let failure else { return log.notice("the store can be written again") }
        log.error("the store cannot be written; it is tried again", metadata: ["error": .string("\(failure)")])
    }

    /// Commits waiting batches, ends the threads and closes the connections.
    func close() async {
        // In a folder the readers first: only the last connection merges the write-ahead log and deletes it, and readers
        // cannot write. A realm's lease does not wait for the end of a query.
        if homeLease != nil { await recordLog.close() }
        for queries in [lookUps, queries, adminQueries] { await queries.close() }
        if homeLease == nil { await recordLog.close() }
    }

    /// Opens the store. Logs the begin and end of a migration, which takes minutes for millions of calls.
    private static func openStore(_ folder: String, _ log: Logger) throws(StoreFailure) -> CallStore {
        var old: String?
        let store = try CallStore.open(
            folder: folder,
            onOlder: { version, current in
                old = version
                log.notice(
                    "migrating the store, about 30 seconds per million calls",
                    metadata: ["from_version": .string(version), "to_version": .string(current)])
            },
            onDoubt: { log.warning("the store may lack records", metadata: ["doubt": .string("\($0)")]) })
        if !store.hasPageChecksums {
            log.notice("the store has no page checksums; reveille backup and reveille restore --replace add them")
        }
        if let old { log.notice("the store is migrated", metadata: ["from_version": .string(old)]) }
        return store
    }
}
