import CallCore
import DequeModule
import GRDB
import StoreInterface

/// The durable state of one server: devices, calls, legs, the push ledger, session descriptions, candidates and missed calls, and
/// what administrators have set, in SQLite.
///
/// It runs in WAL mode with `synchronous = FULL`: what ``commit(_:)`` has returned for is on disk and outlives the
/// process, the kernel and the power, as far as the disk keeps its word on fsync. That is what lets the server
/// acknowledge only what is durable.
///
/// A store belongs to one server, which the lock on its folder sees to, and to one thread of it: the one that opened it
/// until it is handed to a ``GroupCommitter``. Everybody else reads through a ``StoreReader``.
public final class CallStore {
    /// An entry is one value, of which SQLite takes a thousand million bytes. More than this, which is thousands of times
    /// what a commit has, goes into the tables at once.
    static let mostEntryBytes = 16 << 20

    private struct Behind {
        var commit: Int64
        var at: ContinuousClock.Instant
        var records: Int
    }

    /// The folder it lives in.
    public let folder: String
    let tables: StoreTables
    private(set) var journal: WriteJournal?
    private var mark: CommitMark?
    private let files: StoreFiles
    private var encoder = RecordEncoder()
    /// The last commit.
    private var last: Int64
    /// Commits that are in the journal and not in the tables, oldest first.
    private var behind = Deque<Behind>()
    /// How many records were given in commits that are durable and not in the tables.
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

    /// Opens the store in `folder`; makes the folder (mode 0700) and the store where they are missing, and brings an
    /// older store up to date, and one whose server was killed.
    ///
    /// - Parameters:
    ///   - onOlder: told of an older store before it is brought up to date, with its version and that of this
    ///     program, as `v5` and `v6`: it takes half a minute for a million calls. Cut off, it begins anew at the next
    ///     start.
    ///   - onDoubt: told, in words, of what may be missing after a power failure: damage may look the same.
    /// - Throws: ``StoreFailure``: the folder is a file or may not be written, another server has it, the disk is full,
    ///   the file is no database or damaged, a later version has written it, its journal is another store's, or
    ///   something that was acknowledged is missing. The files are as they were then.
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
        let lock = try FolderLock(folder: folder, patience: patience)
        let path = StoreFolder.database(in: folder)
        for doubt in try StoreCheck.doubts(about: path) { onDoubt(doubt) }
        try StoreFolder.createDatabaseFile(in: folder)
        let (tables, settled) = try StoreFailure.wrap(path) {
            let queue = try StoreConnection.open(path, StoreConnection.writing("store"))
            let version = try queue.inDatabase { database in
                try Schema.refuseNewer(database, path: path)
                return try Schema.version(of: database)
            }
            if let version, version != Schema.newest { onOlder(version, Schema.newest) }
            // Before the tables change: a journal is for those of the version that wrote it.
            try queue.inDatabase { database in
                try database.inTransaction(.immediate) {
                    try JournalEntries.settleTable(database, path: path)
                    return .commit
                }
            }
            try JournalEntries.read(of: path)?.settle(queue)
            try Schema.migrator.migrate(queue)
            // The journal and the mark of the last server have no more to say, and go.
            try queue.write { try $0.execute(sql: SettledCommits.noteOpen, arguments: [nil]) }
            return (try StoreTables(queue, path: path), try queue.inDatabase { try SettledCommits.read($0) })
        }
        let journal = try WriteJournal.make(for: path, settled)
        let mark = try CommitMark(
            StoreFolder.mark(of: path), store: settled.store, through: settled.through, ownedAs: path)
        try tables.noteOpen(CommitMark.bootID)
        return CallStore(
            folder: folder, tables: tables, journal: journal, mark: mark, last: settled.through, lock: lock)
    }

    /// Whether the files that are written are those that the next start finds.
    /// - Throws: ``StoreFailure/Reason/displacedFile``.
    func checkFiles() throws(StoreFailure) { try files.check() }

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
        try commit(encoder.encode(batches))
    }

    private func commit(_ records: EncodedRecords) throws(StoreFailure) -> Int {
        let journal = try openJournal()
        let commit = NumberedCommit(number: last + 1, records: records)
        let rows = try tables.write(commit)
        last = commit.number
        try mark?.note(last)
        forget(through: last, in: journal)
        return rows
    }

    /// Makes all of `batches` durable in one transaction. They are in the tables, and readers see them, only after
    /// ``catchUp(records:)``, a ``commit(_:)``, or when the store is closed or opened again. Those of megabytes are there at
    /// once.
    /// - Returns: how many rows were written into the tables.
    @discardableResult
    func commitBehind(batches: some Sequence<[StoreRecord]>) throws(StoreFailure) -> Int {
        let journal = try openJournal()
        let records = encoder.encode(batches)
        guard records.chunk.bytes.count <= Self.mostEntryBytes else { return try commit(records) }
        let commit = NumberedCommit(number: last + 1, records: records)
        try journal.append(commit.number, records.chunk)
        last = commit.number
        try mark?.note(last)
        behind.append(Behind(commit: last, at: .now, records: records.ends.count))
        behindCount += records.ends.count
        tables.add(commit)
        return 0
    }

    /// Brings what was written behind first into the tables, in one transaction.
    /// - Parameter records: about how many rows are written; those of one commit at least.
    /// - Returns: how many were.
    @discardableResult
    func catchUp(records: Int = .max) throws(StoreFailure) -> Int {
        let journal = try openJournal()
        guard behindSince != nil else { return 0 }
        let settled = try tables.catchUp(records: records)
        // With nothing to write, another thread has written it all and is about to say so.
        forget(through: settled?.through ?? last, in: journal)
        return settled?.rows ?? 0
    }

    /// - Parameter settled: what ``StoreTables/catchUp(records:)`` has returned, which any thread may have called.
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

    /// The first and the last commit that is durable and not in the tables; nil when all are.
    var firstBehind: Int64? { behind.first?.commit }
    var lastBehind: Int64? { behind.last?.commit }

    /// Since when records are durable and not in the tables; nil when all are.
    var behindSince: ContinuousClock.Instant? { behind.first?.at }

    private func openJournal() throws(StoreFailure) -> WriteJournal {
        guard let journal else {
            throw StoreFailure(.closed, path: StoreFolder.database(in: folder), detail: "the store is closed")
        }
        return journal
    }

    /// Reads what is not over: every device, the live calls and those with a push still open, with all their legs,
    /// pushes, descriptions, absences and candidates, the missed calls and the pushes about them, and what administrators have set. To be
    /// called once, before the first commit.
    ///
    /// - Parameter timers: those of the core, which bound how old a push is that it may still count.
    public func recover(timers: CallTimers = CallTimers()) throws(StoreFailure) -> RecoveredState {
        try catchUp()
        return try StoreFailure.wrap(StoreFolder.database(in: folder)) {
            try tables.queue.read { try Recovery.read($0, timers: timers) }
        }
    }

    /// Ends the connections and lets go of the folder. The database is then all there is of the store, unless it could
    /// not be written. Does nothing when the store is closed already.
    public func close() {
        guard let journal = journal.take() else { return }
        // What fails stays in the journal, for the next start.
        if behindSince != nil { try? forget(through: tables.catchUp(records: .max)?.through ?? last, in: journal) }
        // Where files were moved, what the folder holds now is not this store's to change.
        let isInPlace = (try? files.check()) != nil
        let isSettled = behind.isEmpty && isInPlace
        if isSettled { try? tables.noteOpen(nil) }
        tables.close()
        WriteJournal.close(journal, removing: isSettled)
        mark = nil
        if isSettled { try? StoreFolder.remove(StoreFolder.mark(of: StoreFolder.database(in: folder))) }
        lock = nil
    }
}

@available(*, unavailable)
extension CallStore: Sendable {}
