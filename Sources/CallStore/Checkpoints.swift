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
/// open. The file is therefore as the last one left it, unless another program has written to it. So is the log as the last
/// commit left it.
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

    /// What a commit leaves in the log: the header of the log, and that of the commit's last frame, whose checksum covers
    /// all frames before it (sqlite.org/fileformat2.html#walformat).
    private struct LogEnd {
        private static let headerSize = 32
        private static let frameHeaderSize = 24

        private let header: [UInt8]
        private let frame: [UInt8]
        /// Of the last frame.
        private let offset: Int

        /// - Parameter frames: how many frames the log has.
        /// - Returns: nil when the log cannot be read: the process may have no descriptors left.
        init?(of log: String, frames: Int) {
            let descriptor = open(log, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            // SQLite has no locks on the log, which would end with this.
            defer { close(descriptor) }
            guard let header = Self.read(descriptor, Self.headerSize, at: 0) else { return nil }
            let pageSize = header.count == Self.headerSize ? header.withUnsafeBytes { Int($0.word(at: 8)) } : 0
            let offset = Self.headerSize + (frames - 1) * (Self.frameHeaderSize + pageSize)
            guard let frame = Self.read(descriptor, Self.frameHeaderSize, at: offset) else { return nil }
            (self.header, self.frame, self.offset) = (header, frame, offset)
        }

        /// Whether the log still has it. True when the log cannot be read.
        func isKept(in log: String) -> Bool {
            // Otherwise another program wrote before the commit.
            guard header.count == Self.headerSize, frame.count == Self.frameHeaderSize, frame[8..<16] == header[16..<24]
            else { return false }
            let descriptor = open(log, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return true }
            defer { close(descriptor) }
            guard let headerNow = Self.read(descriptor, Self.headerSize, at: 0),
                let frameNow = Self.read(descriptor, Self.frameHeaderSize, at: offset)
            else { return true }
            return headerNow == header && frameNow == frame
        }

        /// Whether `earlier` is the end of a commit before this one. Within one log each commit is behind the others, unless
        /// another program has put an older index (`-shm`) in the place of SQLite's: then it is over them.
        func follows(_ earlier: LogEnd, in log: String) -> Bool {
            header != earlier.header || offset > earlier.offset && earlier.isKept(in: log)
        }

        /// Fewer bytes where the file ends before; nil after an error.
        private static func read(_ descriptor: Int32, _ count: Int, at offset: Int) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: count)
            let length = pread(descriptor, &bytes, count, off_t(offset))
            return length < 0 ? nil : Array(bytes.prefix(length))
        }
    }

    private struct File {
        /// Of the file after the last write of this process; nil before ``noteWritten()``.
        var version: FileVersion?
        var isBeingWritten = false
        /// nil during a transaction, and after one that failed: it may have begun the log anew.
        var logEnd: LogEnd?
        /// Of the last commit whose end could be read.
        var lastCommit: LogEnd?
        /// Whether another program had written to the log when a transaction began, or to its index.
        var hasForeignLog = false

        mutating func look(at log: String) {
            if let logEnd, !logEnd.isKept(in: log) { hasForeignLog = true }
        }
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
        if foreignFile != nil { page_checksums_keep_log(database.sqliteConnection) }
        guard let context = sqlite3_wal_hook(database.sqliteConnection, nil, nil) else { return }
        Unmanaged<Checkpoints>.fromOpaque(context).release()
    }

    /// Checks that no other program has written to the database file or its log.
    /// - Throws: ``StoreFailure/Reason/overwrittenFile``.
    func check() throws(StoreFailure) {
        if let foreignFile {
            throw StoreFailure(
                .overwrittenFile, path: foreignFile, detail: "another program wrote to it while the server runs")
        }
    }

    /// The file that another program has written to; nil for none.
    private var foreignFile: String? {
        let log = StoreFolder.log(of: path)
        return file.withLock { file in
            if !file.isBeingWritten, let version = file.version, FileVersion(of: path) != version { return path }
            file.look(at: log)
            return file.hasForeignLog ? log : nil
        }
    }

    /// Runs `body`, a transaction. What another program wrote to the log before is still known after it.
    func committing<Result>(_ body: () throws -> Result) rethrows -> Result {
        let log = StoreFolder.log(of: path)
        file.withLock { file in
            file.look(at: log)
            file.logEnd = nil
        }
        return try body()
    }

    /// Remembers the end of the log as the commit that has just ended left it.
    fileprivate func noteCommit(frames: Int) {
        let log = StoreFolder.log(of: path)
        file.withLock { file in
            file.logEnd = LogEnd(of: log, frames: frames)
            guard let end = file.logEnd else { return }
            if let last = file.lastCommit, !end.follows(last, in: log) { file.hasForeignLog = true }
            file.lastCommit = end
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
        guard foreignFile == nil else { return }
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
    guard pages > 0, let context, let connection, let name else { return SQLITE_OK }
    // Retained by `install` until `remove`.
    let checkpoints = Unmanaged<Checkpoints>.fromOpaque(context).takeUnretainedValue()
    checkpoints.noteCommit(frames: Int(pages))
    if pages >= Checkpoints.pages { checkpoints.run(connection, name) }
    return SQLITE_OK
}
