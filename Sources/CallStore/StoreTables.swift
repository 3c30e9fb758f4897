import CallCore
import CallVocabulary
import Foundation
import GRDB
import RecordTables
import StoreInterface
import Synchronization

/// The tables of an open store, and the commits waiting to be applied to them.
///
/// May be used from any thread. Calls are serialized, except ``add(_:)``.
///
/// Proof for `@unchecked`: mutable state is behind a lock, or is accessed only within `queue`, which is serial.
final class StoreTables: RetentionTables, @unchecked Sendable {
    let queue: DatabaseQueue
    let checkpoints: Checkpoints
    private let path: String
    private let arrivals = Mutex<[NumberedCommit]>([])
    private var writer: TableWriter?
    /// Created when first needed.
    private var deleter: RetentionDeleter<SQLiteStatements>?
    /// Whether transactions are synced at present.
    private var isSyncing = true

    init(_ queue: DatabaseQueue, path: String) throws {
        self.queue = queue
        self.path = path
        checkpoints = Checkpoints(path: path)
        writer = try queue.inDatabase { try TableWriter($0) }
        queue.inDatabase { checkpoints.install(in: $0) }
    }

    /// Adds a commit that is durable in the journal, for ``catchUp(records:)``.
    func add(_ commit: NumberedCommit) { arrivals.withLock { $0.append(commit) } }

    /// Writes the waiting commits and then `commit`, in one transaction; all of it is durable on return.
    /// - Returns: how many rows were written.
    func write(_ commit: NumberedCommit) throws(StoreFailure) -> Int {
        try withWriter { database, writer in
            try writer.write(commit) { body in try inSyncedTransaction(database, body) }
        }
    }

    /// Writes the oldest waiting commits, in one transaction; they are on disk on return.
    /// - Parameter records: the number of rows to write, approximate; at least those of one commit.
    /// - Returns: nil when no commit was waiting.
    func catchUp(records: Int) throws(StoreFailure) -> Settled? {
        try withWriter { database, writer in
            try writer.catchUp(records: records) { body in try inSyncedTransaction(database, body) }
        }
    }

    /// - Parameter body: gets the writer with all waiting commits.
    private func withWriter<Result>(_ body: (Database, TableWriter) throws -> Result) throws(StoreFailure) -> Result {
        try StoreFailure.wrap(path) {
            try queue.inDatabase { database in
                guard let writer else { throw StoreFailure(.closed, path: path, detail: "the store is closed") }
                let arrived = arrivals.withLock { arrivals in
                    defer { arrivals = [] }
                    return arrivals
                }
                writer.take(arrived)
                return try body(database, writer)
            }
        }
    }

    /// Runs `body` in a transaction that is durable on return.
    private func inSyncedTransaction(_ database: Database, _ body: () throws -> Void) throws {
        try syncAgain(database)
        try checkpoints.committing {
            try database.inTransaction(.immediate) {
                try body()
                return .commit
            }
        }
    }

    /// Deletes, in one transaction, some of the rows that `run` selects, and records its progress in `run`.
    ///
    /// The transaction is not synced, because that would take longer than deleting. The next write to the tables syncs
    /// it, and rows that a power failure restores are deleted again.
    func deleteSlice(
        _ run: inout RetentionRun, rows: Int, until isOver: () -> Bool
    ) throws(StoreFailure) -> RetentionCounts {
        var (next, counts) = (run, RetentionCounts())
        try withoutSync { database in
            let deleter = try retention(database)
            try database.inTransaction(.immediate) {
                var left = rows
                repeat {
                    let deleted = try deleter.advance(&next, limit: left)
                    counts += deleted
                    left -= max(1, deleted.total)
                } while left > 0 && !next.isDone && !isOver()
                return .commit
            }
            if let cutoff = next.callsBefore { writer?.callsMayBeDeleted(before: cutoff) }
        }
        run = next
        return counts
    }

    /// Runs a transaction that need not be durable on return. In WAL mode it is atomic all the same.
    func withoutSync(_ body: (Database) throws -> Void) throws(StoreFailure) {
        try StoreFailure.wrap(path) {
            try queue.inDatabase { database in
                isSyncing = false
                try database.execute(sql: "PRAGMA synchronous = NORMAL")
                let result = Result { try checkpoints.committing { try body(database) } }
                // This may fail on a failing disk; it is then repeated before the next commit.
                try? syncAgain(database)
                try result.get()
            }
        }
    }

    /// Enables syncs for later commits. No effect when they are enabled.
    private func syncAgain(_ database: Database) throws {
        guard !isSyncing else { return }
        // SQLite refuses the change within a transaction, which a failure may have left open.
        if database.isInsideTransaction { try database.rollback() }
        try database.execute(sql: "PRAGMA synchronous = FULL")
        isSyncing = true
    }

    /// Records in the database file itself, not only in its log, whether a server has the store open.
    func noteOpen(_ boot: Data?) throws(StoreFailure) {
        try StoreFailure.wrap(path) {
            try queue.inDatabase { database in
                try inSyncedTransaction(database) {
                    try database.execute(sql: SettledCommits.noteOpen, arguments: [boot])
                }
                // If a reader blocks the checkpoint, a later one does it.
                _ = try? checkpoints.writing { try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(PASSIVE)") }
            }
        }
    }

    /// The creation time of the oldest call; nil without calls.
    func oldestCall() throws(StoreFailure) -> Instant? {
        try StoreFailure.wrap(path) { try queue.inDatabase { try retention($0).oldest() } }
    }

    private func retention(_ database: Database) throws -> RetentionDeleter<SQLiteStatements> {
        guard writer != nil else { throw StoreFailure(.closed, path: path, detail: "the store is closed") }
        if let deleter { return deleter }
        let made = try RetentionDeleter(SQLiteStatements(database: database))
        deleter = made
        return made
    }

    /// Closes the connection, which merges the WAL into the database, unless another program has written to it.
    func close() {
        // Their statements must be finalized before the connection is closed.
        queue.inDatabase { database in
            checkpoints.remove(from: database)
            writer = nil
            deleter = nil
        }
        // All commits are durable in the WAL: if the checkpoint fails now, the next start repeats it.
        try? queue.close()
    }
}
