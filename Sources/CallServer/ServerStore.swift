import CallCore
import CallStore
import Logging
import StoreInterface

/// The open store of a server. No other type names the kind of store.
struct ServerStore: Sendable {
    /// The state that the last process left.
    let recovered: RecoveredState
    let recordLog: any RecordLog
    /// Queries for the core: calls that have left its memory, and pages of a user's history.
    let queries: any StoreQueries
    /// Queries for administrators, whose audits of millions of pushes must not delay clients' queries.
    let adminQueries: any StoreQueries

    /// - Throws: `StoreFailure`; nothing is left open then.
    static func open(_ configuration: ServerConfiguration, log: Logger) async throws(StoreFailure) -> ServerStore {
        let folder = configuration.data.path
        let store = try openStore(folder, log)
        let recovered = try store.recover(timers: configuration.timers)
        let queries = try SQLiteQueries.open(folder: folder, thread: "history")
        let adminQueries: any StoreQueries
        do throws(StoreFailure) {
            adminQueries = try SQLiteQueries.open(folder: folder, thread: "admin reads")
        } catch {
            await queries.close()
            throw error
        }
        do throws(StoreFailure) {
            let committer = try GroupCommitter(
                store: store,
                onHealth: { failure in
                    guard let failure else { return log.notice("commits succeed again") }
                    log.error("commits fail; no new call is acknowledged", metadata: ["error": .string("\(failure)")])
                },
                onCheckpoint: { failure in
                    guard let failure else { return log.notice("checkpoints succeed again") }
                    log.error(
                        "checkpoints fail: the write-ahead log grows until the disk is full",
                        metadata: ["error": .string("\(failure)")])
                })
            return ServerStore(
                recovered: recovered, recordLog: committer, queries: queries, adminQueries: adminQueries)
        } catch {
            await queries.close()
            await adminQueries.close()
            throw error
        }
    }

    /// Commits waiting batches, ends the threads and closes the connections. The readers first: only the last
    /// connection to a database merges its write-ahead log and deletes it, and readers cannot write.
    func close() async {
        await queries.close()
        await adminQueries.close()
        await recordLog.close()
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

extension DataFolder {
    /// Runs `body` with queries on the store in the folder, whether a server runs on it or not.
    /// - Parameter replays: false reads the tables as they are, without applying the journal of a killed server.
    /// - Throws: `StoreFailure` when there is no store to read, or what `body` throws.
    public func withQueries<Result>(
        replays: Bool = true, _ body: (any StoreQueries) async throws -> Result
    ) async throws -> Result {
        let queries = try SQLiteQueries.open(folder: path, thread: "queries", replays: replays)
        do {
            let result = try await body(queries)
            await queries.close()
            return result
        } catch {
            await queries.close()
            throw error
        }
    }
}
