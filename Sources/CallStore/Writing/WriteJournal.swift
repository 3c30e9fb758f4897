import Foundation
import GRDB
import StoreInterface

/// The journal of a store that is open: a database beside the store's, of operations that are durable before they are in
/// the tables of their records.
///
/// It is a file of its own so that a commit does not wait while the tables are written: SQLite lets one connection at a
/// time write a file. One commit is one row, synced. Rows go when the tables say on disk that they have them.
final class WriteJournal {
    let queue: DatabaseQueue
    private let path: String
    private let store: Data
    private let insertEntry: SQLRow
    private let deleteEntries: SQLRow
    /// Entries through this one are in the tables.
    private var settled: Int64
    /// Entries through this one are gone.
    private var deleted: Int64

    private init(queue: DatabaseQueue, path: String, _ settled: SettledCommits, _ database: Database) throws {
        self.queue = queue
        self.path = path
        store = settled.store
        self.settled = settled.through
        deleted = settled.through
        insertEntry = try SQLRow(
            database, "INSERT INTO journal (entry, format, operations, checksum) VALUES (?, ?, ?, ?)")
        deleteEntries = try SQLRow(database, "DELETE FROM journal WHERE entry <= ?")
    }

    /// Makes an empty journal for the store whose database is `store`, and whose tables have all that any earlier one had,
    /// which goes.
    static func make(for store: String, _ settled: SettledCommits) throws(StoreFailure) -> WriteJournal {
        let path = StoreFolder.journal(of: store)
        // What a server wrote that was killed may be read and not be on disk: neither reading nor recovering syncs it.
        let log = StoreFolder.log(of: store)
        if StoreFolder.exists(log) {
            try StoreFolder.sync(log)
            try StoreFolder.sync(StoreFolder.folder(of: log))
        }
        try remove(path)
        try StoreFolder.createDraft(path, ownedAs: store)
        try StoreFolder.sync(StoreFolder.folder(of: path))
        return try StoreFailure.wrap(path) {
            let queue = try StoreConnection.open(path, StoreConnection.writing("journal"))
            return try queue.inDatabase { database in
                try database.inTransaction {
                    try database.execute(sql: JournalEntries.tables, arguments: [settled.store])
                    return .commit
                }
                return try WriteJournal(queue: queue, path: path, settled, database)
            }
        }
    }

    /// When it returns the entry is durable.
    func append(_ number: Int64, _ chunk: OperationChunk) throws(StoreFailure) {
        let gone = settled
        let checksum = EntryChecksum.of(chunk.bytes, entry: number, store: store)
        try StoreFailure.wrap(path) {
            try queue.inDatabase { database in
                try database.inTransaction(.immediate) {
                    if gone > deleted {
                        deleteEntries.bind(gone)
                        try deleteEntries.run()
                    }
                    insertEntry.bind(number)
                    insertEntry.bind(JournalFormat.current.number)
                    insertEntry.bindInPlace(blob: chunk.bytes)
                    insertEntry.bind(checksum)
                    try insertEntry.run()
                    return .commit
                }
            }
        }
        deleted = gone
    }

    /// Entries through `number` are in the tables, on disk: they go with the next that comes.
    func settle(through number: Int64) { settled = max(settled, number) }

    /// Ends the connection, for which nobody else may have the journal.
    static func close(_ journal: consuming WriteJournal, removing: Bool) {
        let (queue, path) = (journal.queue, journal.path)
        // Its statements have to end before the connection can.
        _ = consume journal
        try? queue.close()
        // Where that fails, the next start finds entries that it has in its tables.
        if removing { try? remove(path) }
    }

    /// The file goes first, on disk too: where a checkpoint was cut off, what it is without its log is no database. What
    /// else is left of a journal without a file is nobody's, and goes before there is another one.
    static func remove(_ path: String) throws(StoreFailure) {
        if StoreFolder.exists(path) {
            try StoreFolder.remove(path)
            try StoreFolder.sync(StoreFolder.folder(of: path))
        }
        for path in StoreFolder.companions(of: path) + [StoreFolder.rollback(of: path)] { try StoreFolder.remove(path) }
    }
}

@available(*, unavailable)
extension WriteJournal: Sendable {}
