import GRDB
import GRDBSQLite
import StoreInterface
import Synchronization

/// Runs the automatic checkpoints of a connection, and keeps the failure of the last one, which SQLite discards.
///
/// When the database file cannot be written, commits still succeed in the write-ahead log. While checkpoints fail, the
/// log grows without a limit.
final class Checkpoints: Sendable {
    /// The length of the log, in pages, at which each commit is followed by a checkpoint: SQLite's default.
    fileprivate static let pages: Int32 = 1000

    private let path: String
    private let last = Mutex<StoreFailure?>(nil)

    /// The number of objects, for tests: SQLite holds references that nothing else shows.
    static let count = Atomic<Int>(0)

    init(path: String) {
        self.path = path
        Self.count.add(1, ordering: .relaxed)
    }

    deinit { Self.count.subtract(1, ordering: .relaxed) }

    /// Why the last checkpoint failed; nil after a success.
    var failure: StoreFailure? { last.withLock { $0 } }

    /// Replaces SQLite's automatic checkpoints. Call ``remove(from:)`` before the connection is closed.
    func install(in database: Database) {
        // SQLite holds the pointer until `remove`, which releases this reference.
        sqlite3_wal_hook(database.sqliteConnection, afterCommit, Unmanaged.passRetained(self).toOpaque())
    }

    func remove(from database: Database) {
        guard let context = sqlite3_wal_hook(database.sqliteConnection, nil, nil) else { return }
        Unmanaged<Checkpoints>.fromOpaque(context).release()
    }

    fileprivate func run(_ connection: OpaquePointer, _ name: UnsafePointer<CChar>) {
        let result = sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        // Another connection checkpoints or reads. A later commit retries.
        guard result & 0xFF != SQLITE_BUSY, result & 0xFF != SQLITE_LOCKED else { return }
        let failure =
            result == SQLITE_OK
            ? nil
            : StoreFailure(
                code: sqlite3_extended_errcode(connection), path: path,
                detail: "checkpoint: \(String(cString: sqlite3_errmsg(connection)))")
        last.withLock { $0 = failure }
    }
}

/// Called by SQLite after each commit to a write-ahead log, on the thread of the commit.
private func afterCommit(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ pages: Int32
) -> Int32 {
    guard pages >= Checkpoints.pages, let context, let connection, let name else { return SQLITE_OK }
    // Retained by `install` until `remove`.
    Unmanaged<Checkpoints>.fromOpaque(context).takeUnretainedValue().run(connection, name)
    return SQLITE_OK
}
