import CallCore
import DequeModule
import GRDB
import RecordTables
import StoreInterface

/// The durable state of one server in SQLite: devices, calls, legs, the push ledger, session descriptions, candidates,
/// missed calls, and administrators' settings.
///
/// Runs in WAL mode with `synchronous = FULL`. Once ``commit(_:)`` has returned, its records survive the loss of
/// process, kernel and power, if the disk honours fsync. The server acknowledges only durable state.
///
/// A store belongs to one server, ensured by the lock on its folder, and to one thread: the one that opened it, until
/// it is passed to a ``GroupCommitter``. All others read through a ``StoreReader``.
public final class CallStore {
    /// The limit of a journal entry, which is one SQLite value of at most 10^9 bytes. A larger commit, thousands of
    /// times the usual size, is written to the tables at once.
    static let mostEntryBytes = 16 << 20

    private struct Behind {
        var commit: Int64
        var at: ContinuousClock.Instant
        var records: Int
    }

    public let folder: String
    let tables: StoreTables
    private(set) var journal: WriteJournal?
    private(set) var mark: CommitMark?
    private let files: StoreFiles
    private var encoder = RecordEncoder()
    /// The number of the last commit.
    private var last: Int64
    /// Commits in the journal that are not applied to the tables yet, oldest first.
    private var behind = Deque<Behind>()
    /// The number of records in those commits.
    private(set) var behindCount = 0
    private var lock: FolderLock?

    private init(
        folder: String, tables: StoreTables, journal: WriteJournal, mark: CommitMark, last: Int64,
        lock: consuming FolderLock
    ) {
        self.folder = folder
        self.mark = mark
        files = StoreFiles(StoreFolder.database(in: folder))
        self.tables = tables
        self.journal = journal
        self.last = last
        self.lock = consume lock
    }

    deinit { close() }

    /// Opens the store in `folder`. Creates a missing folder (mode 0700) or store, migrates an older store, and
    /// recovers one whose server was killed.
    ///
    /// - Parameters:
    ///   - onOlder: called before an older store is migrated, with its version and that of this program, as `v5` and
    ///     `v6`. A migration takes half a minute for a million calls. When interrupted, it restarts at the next start.
    ///   - onDoubt: called with a description of what a power failure may have lost: damage can look the same.
    /// - Throws: ``StoreFailure`` when the folder is a file, not writable or locked by another server, when a file is a
    ///   link, or the disk is full. Also when the file is no database, damaged, or written by a later version, when the journal belongs to
    ///   another store, or when acknowledged records are missing. The files are unchanged then.
    public static func open(
        folder: String, onOlder: (_ version: String, _ current: String) -> Void = { _, _ in },
        onDoubt: (_ doubt: String) -> Void = { _ in }
    ) throws(StoreFailure) -> CallStore {
        try open(folder: folder, patience: .seconds(3), onOlder: onOlder, onDoubt: onDoubt)
    }

    static func open(
        folder: String, patience: Duration, onOlder: (String, String) -> Void = { _, _ in },
        onDoubt: (_ doubt: String) -> Void = { _ in }
    ) throws(StoreFailure) -> CallStore {
        try StoreFolder.create(folder)
        var lock = try FolderLock(folder: folder, patience: patience)
        let path = StoreFolder.database(in: folder)
        for doubt in try StoreCheck.doubts(about: path) { onDoubt(doubt) }
        try StoreFolder.createDatabaseFile(in: folder)
        try lock.take(path)
        let (tables, settled) = try StoreFailure.wrap(path) {
            let queue = try StoreConnection.open(path, StoreConnection.writing("store"))
            let version = try queue.inDatabase { database in
                try Schema.refuseNewer(database, path: path)
                try Schema.refuseForeign(database, path: path)
                return try Schema.version(of: database)
            }
            if let version, version != Schema.newest { onOlder(version, Schema.newest) }
            // Before the migration: a journal applies to the tables of the version that wrote it.
            try queue.inDatabase { database in
                try database.inTransaction(.immediate) {
                    try JournalEntries.settleTable(database, path: path)
                    return .commit
                }
            }
            try JournalEntries.read(of: path)?.settle(queue)
            try Schema.migrator.migrate(queue)
            // The last server's journal and mark are obsolete, and are removed.
            try queue.write { try $0.execute(sql: SettledCommits.noteOpen, arguments: [nil]) }
            let settled = try queue.inDatabase { try SettledCommits.read($0) }
            // Last: an open store has to be closed.
            return (try StoreTables(queue, path: path), settled)
        }
        var journal: WriteJournal?
        do throws(StoreFailure) {
            let made = try WriteJournal.make(for: path, settled)
            journal = made
            let mark = try CommitMark(
                StoreFolder.mark(of: path), store: settled.store, through: settled.through, ownedAs: path)
            try tables.noteOpen(CommitMark.bootID)
            return CallStore(
                folder: folder, tables: tables, journal: made, mark: mark, last: settled.through, lock: lock)
        } catch {
            tables.close()
            if let journal = journal.take() { WriteJournal.close(journal, removing: false) }
            throw error
        }
    }

    /// Checks that the open files are those that the next start will find, with what this process wrote.
    /// - Throws: ``StoreFailure/Reason/displacedFile`` or ``StoreFailure/Reason/overwrittenFile``.
    func checkFiles() throws(StoreFailure) { try checkFiles(journal) }

    private func checkFiles(_ journal: WriteJournal?) throws(StoreFailure) {
        try files.check()
        try tables.checkpoints.check()
        try journal?.checkpoints.check()
    }

    /// Writes `records` in one transaction: on return either all are durable, or none is written.
    ///
    /// Of several records with one key only the last is written. A call must precede its legs and pushes, or be in the
    /// same batch, in any order.
    /// - Returns: how many rows were written.
    @discardableResult
    public func commit(_ records: [StoreRecord]) throws(StoreFailure) -> Int {
        try commit(batches: CollectionOfOne(records))
    }

    /// Writes all `batches` to the tables in one transaction, as if they were one, after the commits still in the
    /// journal, and records them in the mark.
    /// - Returns: how many rows were written.
    @discardableResult
    func commit(batches: some Sequence<[StoreRecord]>) throws(StoreFailure) -> Int {
        let rows = try write(batches: batches)
        try noteDurable()
        return rows
    }

    /// Records in the mark that all commits so far are durable. Call it before a commit is acknowledged. After a failure
    /// repeat this call only: writing the commit again could insert its rows twice.
    func noteDurable() throws(StoreFailure) { try mark?.note(last) }

    /// As ``commit(batches:)``, without the mark.
    func write(batches: some Sequence<[StoreRecord]>) throws(StoreFailure) -> Int {
        try write(encoder.encode(batches))
    }

    private func write(_ records: EncodedRecords) throws(StoreFailure) -> Int {
        let journal = try openJournal()
        let commit = NumberedCommit(number: last + 1, records: records)
        let rows = try tables.write(commit)
        last = commit.number
        forget(through: last, in: journal)
        return rows
    }

    /// Makes all `batches` durable in one transaction on the journal. The tables, and so readers, have them only after
    /// ``catchUp(records:)``, a ``commit(_:)``, or when the store is closed or opened again. Batches of megabytes are
    /// written to the tables at once. Records the commit in the mark.
    /// - Returns: how many rows were written to the tables.
    @discardableResult
    func commitBehind(batches: some Sequence<[StoreRecord]>) throws(StoreFailure) -> Int {
        let rows = try writeBehind(batches: batches)
        try noteDurable()
        return rows
    }

    /// As ``commitBehind(batches:)``, without the mark.
    func writeBehind(batches: some Sequence<[StoreRecord]>) throws(StoreFailure) -> Int {
        let journal = try openJournal()
        let records = encoder.encode(batches)
        guard records.chunk.count <= Self.mostEntryBytes else { return try write(records) }
        let commit = NumberedCommit(number: last + 1, records: records)
        try journal.append(commit.number, records.chunk)
        last = commit.number
        behind.append(Behind(commit: last, at: .now, records: records.ends.count))
        behindCount += records.ends.count
        tables.add(commit)
        return 0
    }

    /// Applies the oldest commits of the journal to the tables, in one transaction.
    /// - Parameter records: the number of rows to write, approximate; at least those of one commit.
    /// - Returns: how many rows were written.
    @discardableResult
    func catchUp(records: Int = .max) throws(StoreFailure) -> Int {
        let journal = try openJournal()
        guard behindSince != nil else { return 0 }
        let settled = try tables.catchUp(records: records)
        // When nothing was written, another thread has applied everything and is about to report it.
        forget(through: settled?.through ?? last, in: journal)
        return settled?.rows ?? 0
    }

    /// - Parameter settled: the result of ``StoreTables/catchUp(records:)`` on any thread.
    func note(_ settled: Settled?) {
        guard let settled, let journal else { return }
        forget(through: settled.through, in: journal)
    }

    private func forget(through commit: Int64, in journal: WriteJournal) {
        journal.settle(through: commit)
        while let first = behind.first, first.commit <= commit {
            behindCount -= first.records
            behind.removeFirst()
        }
    }

    /// The first commit in the journal that is not applied to the tables; nil when all are. ``lastBehind`` is the last.
    var firstBehind: Int64? { behind.first?.commit }
    var lastBehind: Int64? { behind.last?.commit }

    /// Why a write-ahead log cannot be merged into its database; nil while that succeeds.
    var checkpointFailure: StoreFailure? { tables.checkpoints.failure ?? journal?.checkpoints.failure }

    /// Since when commits wait to be applied to the tables; nil when none does.
    var behindSince: ContinuousClock.Instant? { behind.first?.at }

    private func openJournal() throws(StoreFailure) -> WriteJournal {
        guard let journal else {
            throw StoreFailure(.closed, path: StoreFolder.database(in: folder), detail: "the store is closed")
        }
        return journal
    }

    /// Whether a changed byte of the database is found when it is read; false for a store that an earlier version made.
    public var hasPageChecksums: Bool { tables.queue.inDatabase { PageChecksums.areKept(in: $0) } }

    /// Reads everything that has not ended: live calls and calls with an open push, with all their records, open pushes
    /// about missed calls, and the users concerned. Call it once, before the first commit.
    public func recover() throws(StoreFailure) -> RecoveredState {
        try catchUp()
        return try StoreFailure.wrap(StoreFolder.database(in: folder)) {
            try tables.queue.read { try Recovery.read($0) }
        }
    }

    /// The process that has the store in the folder open for writing; nil for none, and for one in another container.
    package static func process(on folder: String) -> Int32? { FolderLock.holder(of: folder) }

    /// Closes the connections and releases the folder. The database file then holds the whole store, unless it could
    /// not be written. No effect on a closed store.
    public func close() {
        guard let journal = journal.take() else { return }
        // Commits that cannot be applied remain in the journal, for the next start.
        if behindSince != nil { try? forget(through: tables.catchUp(records: .max)?.through ?? last, in: journal) }
        // If files were moved or overwritten, the folder holds something else, which must not be changed.
        let isInPlace = (try? checkFiles(journal)) != nil
        let isSettled = behind.isEmpty && isInPlace
        if isSettled { try? tables.noteOpen(nil) }
        tables.close()
        WriteJournal.close(journal, removing: isSettled)
        mark = nil
        if isSettled { try? StoreFolder.remove(StoreFolder.mark(of: StoreFolder.database(in: folder))) }
        lock = nil
    }
}

extension CallStore: CopiedStore {
    package var place: String { folder }

    package func inTransaction<Value>(
        _ body: (TableQueries<SQLiteStatements>) throws -> Value
    ) throws(StoreFailure) -> Value {
        try catchUp()
        return try StoreFailure.wrap(StoreFolder.database(in: folder)) {
            try tables.queue.write { try body(TableQueries($0)) }
        }
    }
}

@available(*, unavailable)
extension CallStore: Sendable {}
