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
    static let begin = "UPDATE settled SET store = randomblob(16), through = 0"

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
