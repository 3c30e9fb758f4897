import Foundation
import GRDB
import RecordTables
import StoreInterface

/// The write-ahead journal of an open store: a separate database of operations that are durable before they are applied
/// to their tables.
///
/// It is a separate file because SQLite allows one writer per file: a commit does not wait for a write to the tables.
/// Each commit is one row, synced. Rows are deleted once the tables hold them on disk.
final class WriteJournal {
    let queue: DatabaseQueue
    let checkpoints: Checkpoints
    private let path: String
    private let store: Data
    private let insertEntry: SQLRow
    private let deleteEntries: SQLRow
    /// Entries up to this one are applied to the tables.
    private var settled: Int64
    /// Entries up to this one are deleted.
    private var deleted: Int64

    private init(queue: DatabaseQueue, path: String, _ settled: SettledCommits, _ database: Database) throws {
        self.queue = queue
        self.path = path
        checkpoints = Checkpoints(path: path)
        store = settled.store
        self.settled = settled.through
        deleted = settled.through
        insertEntry = try SQLRow(
            database, "INSERT INTO journal (entry, format, operations, checksum) VALUES (?, ?, ?, ?)")
        deleteEntries = try SQLRow(database, "DELETE FROM journal WHERE entry <= ?")
        checkpoints.install(in: database)
        checkpoints.noteWritten()
    }

    /// Creates an empty journal for the store whose database is `store`. The tables must have all entries of an earlier
    /// journal, which is removed.
    static func make(for store: String, _ settled: SettledCommits) throws(StoreFailure) -> WriteJournal {
        let path = StoreFolder.journal(of: store)
        // Data written by a killed server may be readable and not on disk: neither reading nor recovery syncs it.
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

    /// Appends an entry, which is durable on return.
    func append(_ number: Int64, _ chunk: OperationChunk) throws(StoreFailure) {
        let gone = settled
        let checksum = chunk.withBytes { EntryChecksum.of($0, entry: number, store: store) }
        try StoreFailure.wrap(path) {
            try queue.inDatabase { database in
                try checkpoints.committing {
                    try database.inTransaction(.immediate) {
                        if gone > deleted {
                            deleteEntries.bind(gone)
                            try deleteEntries.run()
                        }
                        try insert(number, chunk, checksum)
                        return .commit
                    }
                }
            }
        }
        deleted = gone
    }

    private func insert(_ number: Int64, _ chunk: OperationChunk, _ checksum: Int64) throws(StoreFailure) {
        try chunk.withBytes { operations throws(StoreFailure) in
            insertEntry.bind(number)
            insertEntry.bind(JournalFormat.current.number)
            insertEntry.bindInPlace(blob: operations)
            insertEntry.bind(checksum)
            try insertEntry.run()
        }
    }

    /// Marks entries up to `number` as applied to the tables on disk: the next append deletes them.
    func settle(through number: Int64) { settled = max(settled, number) }

    /// Closes the connection; no other connection may have the journal open.
    static func close(_ journal: consuming WriteJournal, removing: Bool) {
        let (queue, path) = (journal.queue, journal.path)
        queue.inDatabase { journal.checkpoints.remove(from: $0) }
        // Its statements must be finalized before the connection is closed.
        _ = consume journal
        try? queue.close()
        // If the removal fails, the next start finds entries that are already applied.
        if removing { try? remove(path) }
    }

    /// Removes the journal. The file goes first, synced: after an interrupted checkpoint it is no database without its
    /// log. Companions without their file are obsolete, and are removed before another journal is created.
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
