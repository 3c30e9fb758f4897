import GRDB
import StoreInterface

/// How connections to the files of a store are set up.
enum StoreConnection {
    /// Opens a database: each of the store's goes through here.
    ///
    /// SQLite deletes the log of a database that is empty, and with it all that the log holds: such a file is not opened.
    static func open(_ path: String, _ configuration: Configuration) throws -> DatabaseQueue {
        guard !StoreFolder.isEmpty(path) || StoreFolder.size(StoreFolder.log(of: path)) == 0 else {
            throw StoreFailure(
                .corrupted, path: path, detail: "it was cut off; what it held may be in its -wal, which is left alone")
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// In WAL mode, each commit synced.
    static func writing(_ label: String) -> Configuration {
        var configuration = Configuration()
        configuration.label = label
        configuration.foreignKeysEnabled = false
        // An `sqlite3` session that holds the write lock delays commits; it is waited for rather than failed on.
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { database in
            let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
            guard mode == "wal" else {
                throw DatabaseError(resultCode: .SQLITE_CANTOPEN, message: "WAL mode is refused: \(mode ?? "nothing")")
            }
            // NORMAL would sync at checkpoints only, and an acknowledged call could be lost with the power.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            // Debian's SQLite zeroes what is deleted. Rows it may; pages that become free it would write once more for that,
            // and all that an entry of the journal had become so.
            try database.execute(sql: "PRAGMA secure_delete = FAST")
            // In KiB when negative: the indexes on random ids of some million rows.
            try database.execute(sql: "PRAGMA cache_size = -65536")
            // A WAL that has once grown large is cut back to this at the next checkpoint, in bytes.
            try database.execute(sql: "PRAGMA journal_size_limit = 67108864")
        }
        return configuration
    }

    /// A connection that cannot write.
    static func reading(_ label: String) -> Configuration {
        var configuration = Configuration()
        configuration.label = label
        configuration.readonly = true
        // A server that has the WAL to itself for a moment (at its start and end) is waited for.
        configuration.busyMode = .timeout(5)
        return configuration
    }
}
