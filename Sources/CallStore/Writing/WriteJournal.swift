import CallVocabulary
import GRDB

/// The table of operations that are durable before they are in the tables of their records.
///
/// An entry is written in one transaction, and deleted in the one that brings its last record into the tables. Entries
/// go from the front: what is left at any moment, run in order over the tables as they are, gives the tables as they are
/// to be. Operations on one key may then run a second time, in the order they did; those that may not (candidates, which
/// have no key) are in the tables exactly when their entry is gone.
final class WriteJournal {
    /// Of the operations in an entry.
    static let format: Int64 = 1

    private let insertEntry: SQLRow
    private let deleteEntries: SQLRow

    init(_ database: Database) throws {
        insertEntry = try SQLRow(database, "INSERT INTO journal (entry, format, operations) VALUES (?, ?, ?)")
        deleteEntries = try SQLRow(database, "DELETE FROM journal WHERE entry <= ?")
    }

    func insert(_ entry: Int64, _ chunk: OperationChunk) throws(StoreFailure) {
        insertEntry.bind(entry)
        insertEntry.bind(Self.format)
        insertEntry.bindInPlace(blob: chunk.bytes)
        try insertEntry.run()
    }

    func delete(through entry: Int64) throws(StoreFailure) {
        deleteEntries.bind(entry)
        try deleteEntries.run()
    }

    /// Whether there are no entries: the tables are what was acknowledged last.
    static func isEmpty(_ database: Database) throws -> Bool {
        try SQLRow(database, "SELECT 1 FROM journal LIMIT 1").first { _ in true } == nil
    }

    /// Brings all entries into the tables of their records, within a transaction that is open.
    static func replay(_ database: Database) throws {
        let runner = try OperationRunner(database)
        // When calls were deleted is not known: each is looked for.
        runner.callsMayBeDeleted(before: Instant(milliseconds: .max))
        let entries = try SQLRow(database, "SELECT format, operations FROM journal ORDER BY entry")
        while try entries.next() {
            guard entries.int() == format else { throw entries.unreadable() }
            try entries.withBytes { operations throws(StoreFailure) in
                // As when they came: what belongs to a call finds it there, wherever in the entry it stands.
                try runner.run(operations, only: .upsertCall)
                try runner.run(operations)
            }
        }
        try SQLRow(database, "DELETE FROM journal").run()
    }

    /// Does the same in a transaction of its own, where there are entries.
    static func replay(in queue: DatabaseQueue) throws {
        guard try !queue.read(isEmpty) else { return }
        try queue.inTransaction(.immediate) { database in
            try replay(database)
            return .commit
        }
    }
}

@available(*, unavailable)
extension WriteJournal: Sendable {}
