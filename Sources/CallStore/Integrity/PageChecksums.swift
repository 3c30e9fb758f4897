import CPageChecksums
import CallVocabulary
import GRDB
import GRDBSQLite

/// Checksums of the pages of a database and its log: see `CPageChecksums.h`.
///
/// A database of an earlier version has none, and is read and written without them; its log has. Each copy that `VACUUM INTO` makes
/// has them: a backup, and a restored store.
enum PageChecksums {
    private static let registration = page_checksums_register()

    /// The URI by which SQLite opens the database at `path` with checksums.
    /// - Parameter verifying: false counts pages that do not match (``mismatches``), and reads them as they are.
    static func uri(of path: String, verifying: Bool) -> String {
        precondition(registration == SQLITE_OK, "SQLite refuses the VFS: result \(registration)")
        // The characters that are not part of a path in a URI (sqlite.org/uri.html).
        let escaped = path.replacingBytes("%", with: "%25").replacingBytes("?", with: "%3f")
            .replacingBytes("#", with: "%23")
        let authority = path.hasPrefix("/") ? "//" : ""
        return "file:\(authority)\(escaped)?vfs=\(PAGE_CHECKSUMS_VFS)" + (verifying ? "" : "&verify=0")
    }

    /// Reserves the bytes of the checksums in a database that is created, and in what `VACUUM INTO` writes. Call it
    /// before the first statement.
    static func reserve(in database: Database) {
        var bytes = Int32(PAGE_CHECKSUM_BYTES)
        sqlite3_file_control(database.sqliteConnection, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes)
    }

    static func areKept(in database: Database) -> Bool { page_checksums_are_kept(database.sqliteConnection) }

    /// The number of the page for which the last read on this thread failed with `SQLITE_IOERR_DATA`.
    static var lastMismatch: Int64 { page_checksums_last_mismatch() }

    /// How many reads of pages that do not match this process has made.
    static var mismatches: UInt64 { page_checksums_mismatches() }
}
