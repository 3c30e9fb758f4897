import Foundation
import GRDB

/// How far the tables of a store have come, as its database says itself: the row is written in the transaction that it
/// tells of.
struct SettledCommits: Equatable {
    /// Drawn when the store was made. Its journal bears it too.
    var store: Data
    /// The last commit that is in the tables whole, with all before it.
    var through: Int64

    static let table = """
        CREATE TABLE settled (store BLOB NOT NULL, through INTEGER NOT NULL) STRICT;
        INSERT INTO settled (store, through) VALUES (randomblob(16), 0);
        """

    static let note = "UPDATE settled SET through = ?"

    /// For a copy of a store, to which no journal belongs.
    private static let begin = "UPDATE settled SET store = randomblob(16), through = 0"

    /// The store is nobody's: no journal belongs to it, and no logs have to be there.
    static func begin(_ database: Database) throws {
        try database.execute(sql: begin)
        try noteClosed(database)
    }

    /// A store of a version that does not note it stays as it is.
    static func noteClosed(_ database: Database) throws {
        guard try openBoot(in: database) != nil else { return }
        try database.execute(sql: noteOpen, arguments: [nil])
    }

    /// Takes the kernel that the server runs under, or NULL when it has stopped.
    static let noteOpen = "UPDATE settled SET open_boot = ?"

    /// The kernel that a server has the store open under, or had when it was killed: ``CommitMark/bootID``. Its journal
    /// and its logs are there then. nil when the server has stopped cleanly, and for versions that do not note it.
    static func openBoot(in database: Database) throws -> Data? {
        guard try database.columns(in: "settled").contains(where: { $0.name == "open_boot" }) else { return nil }
        return try Data.fetchOne(database, sql: "SELECT open_boot FROM settled WHERE open_boot IS NOT NULL")
    }

    /// Whether the store has its journal beside it, which it has since version 7.
    static func areKept(in database: Database) throws -> Bool { try database.tableExists("settled") }

    static func read(_ database: Database) throws -> SettledCommits {
        let row = try Row.fetchOne(database, sql: "SELECT store, through FROM settled")
        guard let row else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the table settled has no row")
        }
        return SettledCommits(store: row["store"], through: row["through"])
    }
}
