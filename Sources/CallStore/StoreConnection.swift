import GRDB
import StoreInterface
import Synchronization

enum StoreConnection {
    /// Opens a database; every connection of the store is opened here.
    ///
    /// SQLite deletes the log of an empty database with all its content, so such a file is refused.
    /// - Parameter verifying: false reads pages that do not match their checksums as they are.
    static func open(_ path: String, _ configuration: Configuration, verifying: Bool = true) throws -> DatabaseQueue {
        guard !StoreFolder.isPipeOrDevice(path) else {
            throw StoreFailure(.notADatabase, path: path, detail: "it is a pipe or a device")
        }
        guard !StoreFolder.isEmpty(path) || StoreFolder.size(StoreFolder.log(of: path)) == 0 else {
            throw StoreFailure(
                .corrupted, path: path, detail: "it is truncated; its data may be in its -wal, which is unchanged")
        }
        return try DatabaseQueue(path: PageChecksums.uri(of: path, verifying: verifying), configuration: configuration)
    }

    /// The configuration of a writer: WAL mode, each commit synced.
    static func writing(_ label: String) -> Configuration {
        var configuration = common(label)
        configuration.prepareDatabase { database in
            let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
            guard mode == "wal" else {
                throw DatabaseError(resultCode: .SQLITE_CANTOPEN, message: "WAL mode is refused: \(mode ?? "nothing")")
            }
            // NORMAL would sync at checkpoints only, and a power failure could lose an acknowledged call.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            // Debian's SQLite overwrites deleted data with zeros. FAST does so for rows only: zeroing freed pages, such
            // as those of journal entries, would cost another write.
            try database.execute(sql: "PRAGMA secure_delete = FAST")
            // A negative value is in KiB: room for the indexes on random ids of some million rows.
            try database.execute(sql: "PRAGMA cache_size = -65536")
            // After a checkpoint, a larger WAL is truncated to this size, in bytes.
            try database.execute(sql: "PRAGMA journal_size_limit = 67108864")
        }
        return configuration
    }

    /// A connection that cannot write.
    static func reading(_ label: String) -> Configuration {
        var configuration = common(label)
        configuration.readonly = true
        return configuration
    }

    static func common(_ label: String) -> Configuration {
        var configuration = Configuration()
        configuration.label = label
        // The store has none, and those of somebody's own tables stop no row of it.
        configuration.foreignKeysEnabled = false
        // An `sqlite3` session that holds the write lock delays commits instead of failing them. A server that locks
        // the WAL for a moment, at its start and end, is awaited.
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { PageChecksums.reserve(in: $0) }
        return configuration
    }
}

/// Ends the queries of a connection early, because a server that stops does not wait for them. Any thread.
final class QueryStop: Sendable {
    private struct State {
        var isRequested = false
        /// The connection while it reads.
        var queue: DatabaseQueue?
    }

    private let state = Mutex(State())

    var isRequested: Bool { state.withLock { $0.isRequested } }
    var isReading: Bool { state.withLock { $0.queue != nil } }

    /// Ends the statement that runs. A query of several may be between two of them: repeat it.
    func request() {
        state.withLock { state in
            state.isRequested = true
            state.queue?.interrupt()
        }
    }

    func began(_ queue: DatabaseQueue) { state.withLock { $0.queue = queue } }

    /// Before the connection is closed.
    func ended() { state.withLock { $0.queue = nil } }
}
