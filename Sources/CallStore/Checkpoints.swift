import CPageChecksums
import GRDB
import GRDBSQLite
import Glibc
import StoreInterface
import Synchronization

/// Runs the automatic checkpoints of a connection, and keeps the failure of the last one, which SQLite discards.
///
/// When the database file cannot be written, commits still succeed in the write-ahead log. While checkpoints fail, the
/// log grows without a limit.
///
/// In WAL mode only checkpoints write the database file, and no other process makes them while a server has the store
/// open. The file is therefore as the last one left it, unless another program has written to it.
final class Checkpoints: Sendable {
    /// What the system notes of a file when it is written.
    private struct FileVersion: Equatable {
        var size: Int64
        var seconds: Int
        var nanoseconds: Int

        init?(of path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            size = Int64(status.st_size)
            (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        }
    }

    private struct File {
        /// Of the file after the last write of this process; nil before ``noteWritten()``.
        var version: FileVersion?
        var isBeingWritten = false
    }

    /// The length of the log, in pages, at which each commit is followed by a checkpoint: SQLite's default.
    fileprivate static let pages: Int32 = 1000

    private let path: String
    private let last = Mutex<StoreFailure?>(nil)
    private let file = Mutex(File())

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

    /// The connection is to be closed next, which merges the log into the database file, unless another program has
    /// written to the file.
    func remove(from database: Database) {
        if !isOwn { page_checksums_keep_log(database.sqliteConnection) }
        guard let context = sqlite3_wal_hook(database.sqliteConnection, nil, nil) else { return }
        Unmanaged<Checkpoints>.fromOpaque(context).release()
    }

    /// Checks that no other program has written to the database file.
    /// - Throws: ``StoreFailure/Reason/overwrittenFile``.
    func check() throws(StoreFailure) {
        guard isOwn else {
            throw StoreFailure(
                .overwrittenFile, path: path, detail: "another program wrote to it while the server runs")
        }
    }

    private var isOwn: Bool {
        file.withLock { file in
            guard !file.isBeingWritten, let version = file.version else { return true }
            return FileVersion(of: path) == version
        }
    }

    /// Runs `body`, which writes the database file.
    func writing<Result>(_ body: () throws -> Result) rethrows -> Result {
        file.withLock { $0.isBeingWritten = true }
        defer { noteWritten() }
        return try body()
    }

    /// Takes the database file for that of this process, as it is now.
    func noteWritten() {
        file.withLock { file in
            file.isBeingWritten = false
            file.version = FileVersion(of: path)
        }
    }

    fileprivate func run(_ connection: OpaquePointer, _ name: UnsafePointer<CChar>) {
        // Its pages are not mixed with those of another file. The next commit fails by ``check()``.
        guard isOwn else { return }
        let result = writing {
            sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        }
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
