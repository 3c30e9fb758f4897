import CallCore
import CallVocabulary
import Foundation
import GRDB
import StoreInterface
import Synchronization

/// The tables of a store that is open, and what is durable and on its way to them.
///
/// Any thread may use them; whoever comes while another is at work waits for it, but for ``add(_:)``.
///
/// Proof for `@unchecked`: what changes is behind a lock, or is touched within `queue` only, which lets one in at a time.
final class StoreTables: @unchecked Sendable {
    let queue: DatabaseQueue
    private let path: String
    private let arrivals = Mutex<[NumberedCommit]>([])
    private var writer: TableWriter?
    /// Made when it is first needed.
    private var deleter: RetentionDeleter?
    /// Whether a transaction that is committed now is synced.
    private var isSyncing = true

    init(_ queue: DatabaseQueue, path: String) throws {
        self.queue = queue
        self.path = path
        writer = try queue.inDatabase { try TableWriter($0) }
    }

    /// Takes what is durable in the journal, for ``catchUp(records:)``.
    func add(_ commit: NumberedCommit) { arrivals.withLock { $0.append(commit) } }

    /// Writes what is on its way and then `commit`, in one transaction; all of it is durable when this returns.
    /// - Returns: how many rows were written.
    func write(_ commit: NumberedCommit) throws(StoreFailure) -> Int {
        try withWriter { database, writer in
            try writer.write(commit) { body in try inSyncedTransaction(database, body) }
        }
    }

    /// Writes the oldest of what is on its way, in one transaction; it is on disk when this returns.
    /// - Parameter records: about how many rows are written; those of one commit at least.
    /// - Returns: nil when nothing was on its way.
    func catchUp(records: Int) throws(StoreFailure) -> Settled? {
        try withWriter { database, writer in
            try writer.catchUp(records: records) { body in try inSyncedTransaction(database, body) }
        }
    }

    /// - Parameter body: is given the writer with all that has arrived.
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

    /// What `body` writes is durable when this returns.
    private func inSyncedTransaction(_ database: Database, _ body: () throws -> Void) throws {
        try syncAgain(database)
        try database.inTransaction(.immediate) {
            try body()
            return .commit
        }
    }

    /// Deletes, in one transaction, some of what `run` lets go, and notes in it how far it has come.
    ///
    /// It is not synced: the next writing of the tables does that, and what a power failure brings back is deleted again. A
    /// sync of its own would take longer than the deleting does.
    ///
    /// - Parameters:
    ///   - rows: how many rows are deleted or looked at, at most.
    ///   - isOver: asked after each call, push or user whether that is enough.
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

    /// Runs what need not be durable when it returns. In WAL mode it is whole or not there all the same.
    func withoutSync(_ body: (Database) throws -> Void) throws(StoreFailure) {
        try StoreFailure.wrap(path) {
            try queue.inDatabase { database in
                isSyncing = false
                try database.execute(sql: "PRAGMA synchronous = NORMAL")
                let result = Result { try body(database) }
                // On a disk that fails, this may as well: then nothing is committed before it has been done.
                try? syncAgain(database)
                try result.get()
            }
        }
    }

    /// Has what is committed from now on synced. Does nothing where it is.
    private func syncAgain(_ database: Database) throws {
        guard !isSyncing else { return }
        // SQLite refuses to change it within a transaction, which a failure may have left.
        if database.isInsideTransaction { try database.rollback() }
        try database.execute(sql: "PRAGMA synchronous = FULL")
        isSyncing = true
    }

    /// Notes in the database file itself, not in its log alone, that a server has the store open, or has it no more.
    func noteOpen(_ boot: Data?) throws(StoreFailure) {
        try StoreFailure.wrap(path) {
            try queue.inDatabase { database in
                try inSyncedTransaction(database) {
                    try database.execute(sql: SettledCommits.noteOpen, arguments: [boot])
                }
                // Where a reader is in the way, a later checkpoint does it.
                _ = try? Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(PASSIVE)")
            }
        }
    }

    /// When the oldest call was created; nil without calls.
    func oldestCall() throws(StoreFailure) -> Instant? {
        try StoreFailure.wrap(path) { try queue.inDatabase { try retention($0).oldest() } }
    }

    private func retention(_ database: Database) throws -> RetentionDeleter {
        guard writer != nil else { throw StoreFailure(.closed, path: path, detail: "the store is closed") }
        if let deleter { return deleter }
        let made = try RetentionDeleter(database)
        deleter = made
        return made
    }

    /// Ends the connection, which also merges the WAL into the database.
    func close() {
        // Their statements have to end before their connection can.
        queue.inDatabase { _ in
            writer = nil
            deleter = nil
        }
        // Everything committed is durable in the WAL: a checkpoint that fails now happens at the next start.
        try? queue.close()
    }
}
