import CallCore
import CallVocabulary
import GRDB

/// The durable state of one server: devices, calls, legs, the push ledger, offers, candidates and missed calls, and
/// what administrators have set, in SQLite.
///
/// It runs in WAL mode with `synchronous = FULL`: what ``commit(_:)`` has returned for is on disk and outlives the
/// process, the kernel and the power, as far as the disk keeps its word on fsync. That is what lets the server
/// acknowledge only what is durable.
///
/// A store belongs to one server, which the lock on its folder sees to, and to one thread of it: the one that opened it
/// until it is handed to a ``GroupCommitter``. Everybody else reads through a ``StoreReader``.
public final class CallStore {
    /// The folder it lives in.
    public let folder: String
    let queue: DatabaseQueue
    private let path: String
    private var writer: BatchWriter?
    /// Made when it is first needed.
    private var deleter: RetentionDeleter?
    private var lock: FolderLock?
    /// Whether a transaction that is committed now is synced.
    private var isSyncing = true

    private init(folder: String, queue: DatabaseQueue, writer: BatchWriter, lock: consuming FolderLock) {
        self.folder = folder
        self.queue = queue
        path = StoreFolder.database(in: folder)
        self.writer = writer
        self.lock = consume lock
    }

    deinit { close() }

    /// Opens the store in `folder`; makes the folder (mode 0700) and the store where they are missing, and brings an
    /// older store up to date, and one whose server was killed.
    ///
    /// - Parameter onOlder: told of an older store before it is brought up to date, with its version and that of this
    ///   program, as `v5` and `v6`: it takes half a minute for a million calls. Cut off, it begins anew at the next start.
    /// - Throws: ``StoreFailure``: the folder is a file or may not be written, another server has it, the disk is full,
    ///   the file is no database or damaged, or a later version has written it.
    public static func open(
        folder: String, onOlder: (_ version: String, _ current: String) -> Void = { _, _ in }
    ) throws(StoreFailure) -> CallStore {
        try open(folder: folder, patience: .seconds(3), onOlder: onOlder)
    }

    static func open(
        folder: String, patience: Duration, onOlder: (String, String) -> Void = { _, _ in }
    ) throws(StoreFailure) -> CallStore {
        try StoreFolder.create(folder)
        let lock = try FolderLock(folder: folder, patience: patience)
        try StoreFolder.createDatabaseFile(in: folder)
        let path = StoreFolder.database(in: folder)
        let (queue, writer) = try StoreFailure.wrap(path) {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let version = try queue.inDatabase { database in
                try Schema.refuseNewer(database, path: path)
                return try Schema.version(of: database)
            }
            if let version, version != Schema.newest { onOlder(version, Schema.newest) }
            try Schema.migrator.migrate(queue)
            try WriteJournal.replay(in: queue)
            return (queue, try queue.inDatabase { try BatchWriter($0) })
        }
        return CallStore(folder: folder, queue: queue, writer: writer, lock: lock)
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "store"
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

    /// Writes `records` in one transaction; all of them are durable when it returns, or none of them is written.
    ///
    /// Of records with the same key only the last is written. A call has to come before its legs and pushes, or with them, in
    /// any order.
    /// - Returns: how many rows were written.
    @discardableResult
    public func commit(_ records: [StoreRecord]) throws(StoreFailure) -> Int {
        try commit(batches: CollectionOfOne(records))
    }

    /// Writes all of `batches` into the tables in one transaction, as if they were one, and what was written behind
    /// before them.
    /// - Returns: how many rows were written.
    @discardableResult
    func commit(batches: some Sequence<[StoreRecord]>) throws(StoreFailure) -> Int {
        let writer = try openWriter()
        return try StoreFailure.wrap(path) { try writer.write(batches, in: inSyncedTransaction) }
    }

    /// Makes all of `batches` durable in one transaction. They are in the tables, and readers see them, only after
    /// ``catchUp(records:)``, a ``commit(_:)``, or when the store is closed or opened again. Those of megabytes are there at
    /// once.
    /// - Returns: how many rows were written into the tables.
    @discardableResult
    func commitBehind(batches: some Sequence<[StoreRecord]>) throws(StoreFailure) -> Int {
        let writer = try openWriter()
        return try StoreFailure.wrap(path) { try writer.writeBehind(batches, in: inSyncedTransaction) }
    }

    /// Brings what was written behind first into the tables, in one transaction.
    ///
    /// It is not synced: what a power failure takes back is still in the journal, which the next start replays.
    /// - Parameter records: about how many rows are written; those of one commit at least.
    /// - Returns: how many were.
    @discardableResult
    func catchUp(records: Int = .max) throws(StoreFailure) -> Int {
        let writer = try openWriter()
        guard writer.behindSince != nil else { return 0 }
        var rows = 0
        try withoutSync { _ in rows = try writer.catchUp(records: records, in: inTransaction) }
        return rows
    }

    /// Since when records are durable and not in the tables; nil when all are.
    var behindSince: ContinuousClock.Instant? { writer?.behindSince }

    /// How many records are durable and not in the tables.
    var behindCount: Int { writer?.behindCount ?? 0 }

    private func openWriter() throws(StoreFailure) -> BatchWriter {
        guard let writer else { throw StoreFailure(.closed, path: path, detail: "the store is closed") }
        return writer
    }

    /// What `body` writes is durable when this returns.
    private func inSyncedTransaction(_ body: () throws -> Void) throws {
        if !isSyncing { try queue.inDatabase { try syncAgain($0) } }
        try inTransaction(body)
    }

    private func inTransaction(_ body: () throws -> Void) throws {
        try queue.unsafeReentrantWrite { database in
            try database.inTransaction(.immediate) {
                try body()
                return .commit
            }
        }
    }

    /// Deletes, in one transaction, some of what `run` lets go, and notes in it how far it has come.
    ///
    /// It is not synced: the next commit does that, and what a power failure brings back is deleted again. A sync of its
    /// own would hold commits up for longer than the deleting does.
    ///
    /// - Parameters:
    ///   - rows: how many rows are deleted or looked at, at most.
    ///   - isOver: asked after each call, push or user whether that is enough.
    func deleteSlice(
        _ run: inout RetentionRun, rows: Int, until isOver: () -> Bool
    ) throws(StoreFailure) -> RetentionCounts {
        let deleter = try retention()
        var (next, counts) = (run, RetentionCounts())
        try withoutSync { database in
            try database.inTransaction(.immediate) {
                var left = rows
                repeat {
                    let deleted = try deleter.advance(&next, limit: left)
                    counts += deleted
                    left -= max(1, deleted.total)
                } while left > 0 && !next.isDone && !isOver()
                return .commit
            }
        }
        run = next
        if let cutoff = run.callsBefore { writer?.callsMayBeDeleted(before: cutoff) }
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

    /// When the oldest call was created; nil without calls.
    func oldestCall() throws(StoreFailure) -> Instant? {
        let deleter = try retention()
        return try StoreFailure.wrap(path) { try queue.read { _ in try deleter.oldest() } }
    }

    private func retention() throws(StoreFailure) -> RetentionDeleter {
        _ = try openWriter()
        if let deleter { return deleter }
        let made = try StoreFailure.wrap(path) { try queue.inDatabase { try RetentionDeleter($0) } }
        deleter = made
        return made
    }

    /// Reads what is not over: every device, the live calls and those with a push still open, with all their legs,
    /// pushes, offers and candidates, the missed calls and the pushes about them, and what administrators have set. To be
    /// called once, before the first commit.
    ///
    /// - Parameter timers: those of the core, which bound how old a push is that it may still count.
    public func recover(timers: CallTimers = CallTimers()) throws(StoreFailure) -> RecoveredState {
        try catchUp()
        return try StoreFailure.wrap(path) { try queue.read { try Recovery.read($0, timers: timers) } }
    }

    /// Ends the connection, which also merges the WAL into the database, and lets go of the folder. Does nothing when
    /// the store is closed already.
    public func close() {
        guard writer != nil else { return }
        // What fails stays in the journal, for the next start.
        _ = try? catchUp()
        // Their statements have to end before their connection can.
        writer = nil
        deleter = nil
        // Everything committed is durable in the WAL: a checkpoint that fails now happens at the next start.
        try? queue.close()
        lock = nil
    }
}

@available(*, unavailable)
extension CallStore: Sendable {}
