import CallCore
import CallStore
import Logging
import StoreInterface

/// The store that a server runs on, opened: the one place where a kind of store is named.
struct ServerStore: Sendable {
    /// What the last process left.
    let recovered: RecoveredState
    let log: any RecordLog
    /// For the core: calls that it no longer holds, and lists of a user's calls.
    let queries: any StoreQueries
    /// For administrators, whose audits of millions of pushes delay no client's query.
    let adminQueries: any StoreQueries

    /// - Throws: `StoreFailure`; nothing is left open then.
    static func open(_ configuration: ServerConfiguration, log: Logger) async throws(StoreFailure) -> ServerStore {
        let folder = configuration.data.path
        let store = try openStore(folder, log)
        let recovered = try store.recover(timers: configuration.timers)
        let queries = try SQLiteQueries.open(folder: folder, thread: "history")
        let adminQueries: SQLiteQueries
        do throws(StoreFailure) {
            adminQueries = try SQLiteQueries.open(folder: folder, thread: "admin reads")
        } catch {
            await queries.close()
            throw error
        }
        do throws(StoreFailure) {
            let committer = try GroupCommitter(store: store) { failure in
                if let failure {
                    log.error("commits fail; nothing new is acknowledged", metadata: ["error": .string("\(failure)")])
                } else {
                    log.notice("commits succeed again")
                }
            }
            return ServerStore(recovered: recovered, log: committer, queries: queries, adminQueries: adminQueries)
        } catch {
            await queries.close()
            await adminQueries.close()
            throw error
        }
    }

    /// Ends the threads and the connections. Batches that wait are committed first.
    func close() async {
        await log.close()
        await queries.close()
        await adminQueries.close()
    }

    /// The migration of an older store takes minutes for millions of calls, so the log says when it begins and ends.
    private static func openStore(_ folder: String, _ log: Logger) throws(StoreFailure) -> CallStore {
        var old: String?
        let store = try CallStore.open(
            folder: folder,
            onOlder: { version, current in
                old = version
                log.notice(
                    "the store is being brought up to date, half a minute for a million calls",
                    metadata: ["from_version": .string(version), "to_version": .string(current)])
            },
            onDoubt: { log.warning("the store may lack something", metadata: ["doubt": .string("\($0)")]) })
        if let old { log.notice("the store is up to date", metadata: ["from_version": .string(old)]) }
        return store
    }
}

extension DataFolder {
    /// Runs `body` with queries on the store in the folder, whether a server runs on it or not.
    /// - Parameter replays: false shows the tables as they are, without the journal of a server that was killed.
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
