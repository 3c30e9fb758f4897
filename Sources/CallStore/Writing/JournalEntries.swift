import CallVocabulary
import Foundation
import GRDB
import RecordTables
import StoreInterface

/// The content of a store's journal: read after a kill, for a backup, or by a reader beside a server.
///
/// Entries are commits, without a gap up to the last; the first ones may be applied to the tables already. Applying the
/// others in order completes the tables. Operations on one key may then run a second time, in their order. Operations
/// that must not run twice (candidates, which have no key) are in the tables exactly when their commit is settled.
package struct JournalEntries {
    package struct Entry {
        var number: Int64
        var format: Int64
        var operations: [UInt8]

        package init(number: Int64, format: Int64, operations: [UInt8]) {
            self.number = number
            self.format = format
            self.operations = operations
        }
    }

    /// The tables of the journal; binds the store's id.
    static let tables = """
        CREATE TABLE journal (
            entry INTEGER PRIMARY KEY, format INTEGER NOT NULL, operations BLOB NOT NULL, checksum INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE owner (store BLOB NOT NULL) STRICT;
        INSERT INTO owner (store) VALUES (?);
        """

    private let path: String
    private let store: Data?
    private var entries: [Entry] = []

    /// Reads the journal of the store whose database is `path`, through a read-only connection.
    /// - Returns: nil when there is none.
    static func read(of path: String) throws(StoreFailure) -> JournalEntries? {
        try inJournal(of: path) { try JournalEntries(path: $0, $1) }
    }

    /// The last commit in the journal of the store whose database is `path`.
    /// - Returns: nil when the tables have all its commits, or the journal belongs to another store.
    static func lastBehind(_ path: String, _ settled: SettledCommits) throws(StoreFailure) -> Int64? {
        try inJournal(of: path) { _, database in
            guard try database.tableExists("owner") else { return nil }
            return try Int64.fetchOne(
                database, sql: "SELECT max(entry) FROM journal, owner WHERE store <> ? OR entry > ?",
                arguments: [settled.store, settled.through])
        } ?? nil
    }

    /// The last commit in the journal; nil when it belongs to another store than `store`.
    func last(of store: Data) -> Int64? { self.store == store ? entries.last?.number : nil }

    private static func inJournal<Result>(
        of store: String, isSecondTry: Bool = false, _ body: (_ path: String, Database) throws -> Result
    ) throws(StoreFailure) -> Result? {
        let path = StoreFolder.journal(of: store)
        // A journal whose creation was interrupted before WAL mode has no entries.
        guard StoreFolder.exists(path), !StoreFolder.exists(StoreFolder.rollback(of: path)) else { return nil }
        do {
            return try StoreFailure.wrap(path) {
                let queue = try StoreConnection.open(path, StoreConnection.reading("journal reader"))
                let result = try queue.read { try body(path, $0) }
                try queue.close()
                return result
            }
        } catch {
            // A stopping server removes the journal, and a starting one replaces it.
            guard StoreFolder.exists(path) else { return nil }
            guard isSecondTry || error.reason == .unreadableRow else {
                return try inJournal(of: store, isSecondTry: true, body)
            }
            throw error
        }
    }

    private init(path: String, _ database: Database) throws {
        self.path = path
        // A journal whose creation was interrupted before its tables has no entries.
        guard try database.tableExists("owner") else {
            store = nil
            return
        }
        store = try Data.fetchOne(database, sql: "SELECT store FROM owner")
        entries = try Self.all(database, of: store)
    }

    /// - Parameter store: the owner, for entries with a checksum, which they have since format 2.
    private static func all(_ database: Database, of store: Data?) throws -> [Entry] {
        var entries: [Entry] = []
        let isChecked = try database.columns(in: "journal").contains { $0.name == "checksum" }
        let checksum = isChecked ? "checksum" : "NULL"
        let rows = try SQLRow(database, "SELECT entry, format, operations, \(checksum) FROM journal ORDER BY entry")
        while try rows.next() {
            let (number, format) = (rows.int(), rows.int())
            guard let operations = rows.withBytes({ Array($0) }) else { throw rows.unreadable() }
            let entry = Entry(number: number, format: format, operations: operations)
            if let checksum = rows.optionalInt(), let store {
                let found = entry.operations.withUnsafeBytes {
                    EntryChecksum.of($0, entry: entry.number, store: store)
                }
                guard found == checksum else {
                    throw rows.failure(.corrupted, "the journal's entry \(entry.number) does not match its checksum")
                }
            }
            entries.append(entry)
        }
        return entries
    }

    /// Applies the entries that the tables lack, in one transaction, with the statements of the version that wrote
    /// them. Call it before a migration of those tables.
    /// - Throws: ``StoreFailure``: ``StoreFailure/Reason/otherJournal`` when the journal belongs to another store, or
    ///   another state of this one; ``StoreFailure/Reason/newerVersion`` for an unknown format.
    func settle(_ queue: DatabaseQueue) throws {
        try queue.inDatabase { database in
            guard try SettledCommits.areKept(in: database) else {
                guard entries.isEmpty else { throw foreign("it belongs to another store") }
                return
            }
            let settled = try SettledCommits.read(database)
            guard entries.isEmpty || store == settled.store else { throw foreign("it belongs to another store") }
            let late = entries.filter { $0.number > settled.through }
            guard let first = late.first, let last = late.last else { return }
            guard first.number == settled.through + 1 else {
                throw foreign(
                    "it begins with commit \(first.number), and the tables end with commit \(settled.through)")
            }
            guard Int(last.number - first.number) == late.count - 1 else {
                throw foreign("commits are missing between \(first.number) and \(last.number)")
            }
            try database.inTransaction(.immediate) {
                try Self.run(late, on: database, path: path)
                try database.execute(sql: SettledCommits.note, arguments: [last.number])
                return .commit
            }
        }
    }

    private func foreign(_ detail: String) -> StoreFailure { StoreFailure(.otherJournal, path: path, detail: detail) }

    /// Applies the journal table of versions 5 and 6, within an open transaction; no effect without such a table.
    static func settleTable(_ database: Database, path: String) throws {
        guard try !SettledCommits.areKept(in: database), try database.tableExists("journal") else { return }
        try run(all(database, of: nil), on: database, path: path)
        try database.execute(sql: "DELETE FROM journal")
    }

    /// Applies entries of one format, within an open transaction.
    package static func run(_ entries: [Entry], on database: Database, path: String) throws {
        guard let format = entries.first?.format else { return }
        let version = try Schema.version(of: database) ?? ""
        guard let known = JournalFormat.released(format, schema: version), entries.allSatisfy({ $0.format == format })
        else {
            throw StoreFailure(
                .newerVersion, path: path,
                detail: "its entries have format \(format), which is unknown for tables of version \(version)")
        }
        let runner = try OperationRunner(database, known)
        // It is unknown when calls were deleted: each is looked up.
        runner.callsMayBeDeleted(before: Instant(milliseconds: .max))
        func run() throws {
            for entry in entries {
                try entry.operations.withUnsafeBytes { operations throws in
                    // Calls first, as when the entry was written: dependent rows look up their call.
                    try runner.run(operations, only: known.upsertCall)
                    try runner.run(operations)
                }
            }
        }
        guard let histories = known.histories else { return try run() }
        try HistoryWriter(database, histories).write(run)
    }
}
