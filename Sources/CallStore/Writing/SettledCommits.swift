import Foundation
import GRDB
import RecordTables
import StoreInterface

/// How far the journal has been applied to the tables. The row is written in the transaction that it describes.
struct SettledCommits: Equatable {
    /// A random id drawn when the store was created. Its journal contains it too.
    var store: Data
    /// The last commit that is completely in the tables, with all before it.
    var through: Int64

    static let table = """
        CREATE TABLE settled (store BLOB NOT NULL, through INTEGER NOT NULL) STRICT;
        INSERT INTO settled (store, through) VALUES (randomblob(16), 0);
        """

    static let note = "UPDATE settled SET through = ?"

    /// Gives a copy of a store a new id, to which no journal belongs.
    private static let begin = "UPDATE settled SET store = randomblob(16), through = 0"

    /// Detaches the store from any journal and from logs that a check would require.
    static func begin(_ database: Database) throws {
        try database.execute(sql: begin)
        try noteClosed(database)
    }

    /// Records that no server has the store open; no effect for versions that do not record it.
    static func noteClosed(_ database: Database) throws {
        guard try openBoot(in: database) != nil else { return }
        try database.execute(sql: noteOpen, arguments: [nil])
    }

    /// Binds the boot id of the kernel under which the server runs; NULL once it has stopped.
    static let noteOpen = "UPDATE settled SET open_boot = ?"

    /// The boot id of the kernel under which a server has the store open, or had when it was killed:
    /// ``CommitMark/bootID``. Its journal and logs must exist then. nil after a clean stop, and for versions that do
    /// not record it.
    static func openBoot(in database: Database) throws -> Data? {
        guard try database.columns(in: "settled").contains(where: { $0.name == "open_boot" }) else { return nil }
        return try Data.fetchOne(database, sql: "SELECT open_boot FROM settled WHERE open_boot IS NOT NULL")
    }

    /// Whether the journal is a separate file, as it is since version 7.
    static func areKept(in database: Database) throws -> Bool { try database.tableExists("settled") }

    /// The numbers of commits that are possible: one more does not overflow.
    private static let possible = 0...Int64.max / 2

    static func read(_ database: Database) throws -> SettledCommits {
        let rows = try SQLRow(database, "SELECT store, through FROM settled")
        let found = try rows.first { (row) throws(StoreFailure) in
            guard let store = row.withBytes({ Data($0) }), let through = row.optionalInt(), possible.contains(through)
            else { throw row.failure(.corrupted, "the table settled holds no commit's number") }
            return SettledCommits(store: store, through: through)
        }
        guard let found else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the table settled has no row")
        }
        return found
    }
}
