import CallVocabulary

/// An error of the store: a closed reason, the file or folder, and the message of the system.
public struct StoreFailure: Error, Equatable, Sendable {
    public enum Reason: Equatable, Sendable {
        /// The path of the folder is a file.
        case notADirectory
        /// The folder, or a file in it, may not be created or written.
        case cannotWrite
        case diskFull
        /// There is no store in the folder, and a reader does not create one.
        case noStore
        /// The named backup is missing or is no store.
        case noBackup
        /// A file exists where a backup or a restored store should go, and replacing it was not requested.
        case exists
        /// The target of a backup is a folder, or a file of the store itself; neither is replaced.
        case notReplaceable
        /// The file is not a SQLite database.
        case notADatabase
        /// SQLite found the file damaged.
        case corrupted
        /// The journal beside the database belongs to another store, or to another state of this one.
        case otherJournal
        /// A file of the store is missing, and acknowledged records with it.
        case missingFile
        /// The files lack acknowledged records.
        case incomplete
        /// `reveille.mark` belongs to another store.
        case foreignMark
        /// A file was deleted, moved or replaced while the server had it open.
        case displacedFile
        /// Another program wrote to a database while the server had it open.
        case overwrittenFile
        /// A file of the store is a link, or has a name in another folder.
        case linkedFile
        /// The store was written by a later version of this program.
        case newerVersion
        /// Another server holds the folder; nil when it did not leave its process id.
        case locked(by: Int32?)
        /// A row holds a value that no known version writes.
        case unreadableRow
        /// Another connection locked the database for too long.
        case busy
        /// The system failed a read, write or sync.
        case inputOutput
        /// The store, its committer or its reader is closed; the records are not durable.
        case closed
        /// Any other SQLite result, by its extended code.
        case sqlite(Int32)
        /// The library for PostgreSQL is not installed.
        case noLibrary
        /// The database does not answer, or refuses connections at present.
        case unreachable
        /// The database waits for its synchronous standby server.
        case noSynchronousStandby
        /// The database has no connection left.
        case tooManyConnections
        /// The database refuses this user, or a right that the store needs.
        case accessDenied
        /// The address of the database is none that libpq accepts.
        case invalidAddress
        /// The server or the database cannot hold a store.
        case unsuitableDatabase
        /// Another process is the realm's home.
        case livingHome
        /// Another process has become the realm's home; this one commits nothing any more.
        case fenced
        /// The lease of the realm could not be renewed in time; it is tried again.
        case leaseExpired
        /// The database lacks commits that it had acknowledged.
        case lostCommits
        /// The store to copy to has records.
        case notEmpty
        /// The copy of a store differs from its source.
        case copyDiffers
        /// Any other error of PostgreSQL, by its SQLSTATE.
        case postgreSQL(String)
    }

    public let reason: Reason
    /// The folder or file concerned.
    public let path: String
    /// The message of SQLite or of the system.
    public let detail: String

    public init(_ reason: Reason, path: String, detail: String) {
        self.reason = reason
        self.path = path
        self.detail = detail
    }
}

extension StoreFailure: CustomStringConvertible {
    public var description: String { "store \(path): \(detail.clause). \(advice)" }

    private var advice: String {
        switch reason {
        case .noStore, .corrupted, .unreadableRow, .busy, .inputOutput, .diskFull, .cannotWrite:
            isInDatabase ? adviceForDatabase : adviceForFolder
        case .notADirectory: "Name a folder as the data folder, or move the file away."
        case .noBackup: "Name a file that reveille backup has written."
        case .exists: "Name another, or have this one replaced."
        case .notReplaceable: "Name another file."
        case .notADatabase:
            """
            A backup is a file that reveille backup has written. If this is the store's own file, move it away or restore a \
            backup.
            """
        case .otherJournal:
            "Put back the database that it belongs to, or move it away with its -wal: the last calls of that one are in them."
        case .missingFile where path.hasSuffix("/reveille.sqlite3"):
            "Put it back, or restore a backup: reveille restore --replace. To begin without calls and devices, move the other files away."
        case .missingFile, .incomplete:
            "Keep the files, and put back what is missing or restore a backup. To go on without it: reveille backup --salvage, then reveille restore --replace."
        case .foreignMark:
            "Put back the database that it belongs to, or remove it if the database was replaced on purpose."
        case .displacedFile:
            "Move the file back; nothing is acknowledged until then. If it is lost, stop the server and restore a backup."
        case .overwrittenFile:
            """
            Nothing is acknowledged any more: stop the server, and restore a backup with reveille restore --replace. \
            A copy over the file of a running server restores nothing.
            """
        case .linkedFile:
            "Stop the server of the other folder, copy this folder to a new one (cp -rL), and name that one as the data folder."
        case .newerVersion: "Start the version that wrote it, or a later one."
        case .locked(let pid?): "Stop the server with process id \(pid), or give this one a folder of its own."
        case .locked(nil): "Stop the other server, or give this one a folder of its own."
        case .closed: "Open it again."
        case .sqlite: "See the result codes of SQLite."
        case .noLibrary, .unreachable, .noSynchronousStandby, .tooManyConnections, .accessDenied, .invalidAddress,
            .unsuitableDatabase, .livingHome, .fenced, .leaseExpired, .lostCommits, .notEmpty, .copyDiffers,
            .postgreSQL:
            adviceForDatabase
        }
    }

    /// Whether the path is the address of a database, not a file or folder.
    private var isInDatabase: Bool { path.hasPrefix("postgres") && path.contains("://") }

    private var adviceForFolder: String {
        switch reason {
        case .cannotWrite:
            "See that the folder is there, that this user may write in it, and that its file system is neither full nor mounted read-only."
        case .diskFull: "Free some space; a server that runs goes on by itself."
        case .noStore: "Check the path of the data folder (--data), or start a server on it first."
        case .corrupted:
            "Stop the server, keep the files for inspection, and restore a backup. Without one: reveille backup --salvage, then reveille restore --replace."
        case .unreadableRow: Self.adviceForRow
        case .busy: "End long-running sqlite3 sessions on this file."
        default: "Check the disk and the kernel's log (dmesg), and whether the file system is mounted read-only."
        }
    }

    private static let adviceForRow =
        "The row is damaged, was edited by hand, or was written by a later version. Repair or delete it, or restore a backup."

    private var adviceForDatabase: String {
        switch reason {
        case .noStore:
            """
            Check the names of the database and the realm. \(PostgresAddress.creation(ofDatabaseAt: path)) makes a database; \
            the start of a server makes or migrates a realm.
            """
        case .cannotWrite:
            "Name the primary server of PostgreSQL, or promote the standby server if that one is lost (pg_promote)."
        case .diskFull: "Free some space on PostgreSQL's disk; a server that runs goes on by itself."
        case .corrupted: "See PostgreSQL's log, keep its files, and restore a backup of the database."
        case .unreadableRow: Self.adviceForRow
        case .busy:
            "End the sessions that hold locks on its tables: see pg_stat_activity. A server that runs goes on by itself."
        case .inputOutput: "Check the disk and the log of PostgreSQL."
        case .noLibrary: "Install it: apt install libpq5"
        case .unreachable where detail.contains("session is read-only"):
            """
            Start PostgreSQL's primary server. If it is lost, promote the standby server (pg_promote); a server that runs \
            goes on by itself then.
            """
        case .unreachable:
            "Check that PostgreSQL runs, and that this machine reaches it; a server that runs goes on by itself."
        case .noSynchronousStandby:
            "Start PostgreSQL's standby server, or see synchronous_standby_names; a server that runs goes on by itself."
        case .tooManyConnections:
            "Raise max_connections of PostgreSQL; a home needs seven connections, each standby one."
        case .accessDenied where detail.contains("no password supplied"):
            """
            Write the password to ~/.pgpass of the system user that runs Reveille, readable by that user only (mode 600), \
            or to the file that PGPASSFILE names.
            """
        case .accessDenied: "Check the user and the password, pg_hba.conf, and the user's rights on the database."
        case .invalidAddress: "Correct the URI in store (--store)."
        case .unsuitableDatabase where detail.contains("connection pooler"):
            "Name PostgreSQL itself in store (--store), or give the pooler a pool in session mode (PgBouncer: pool_mode = session)."
        case .unsuitableDatabase: "Make a database for it: \(PostgresAddress.creation(ofDatabaseAt: path))"
        case .livingHome: "Stop that server first, or give this one a realm of its own."
        case .fenced: "The server stands by again by itself. See why it lost the lease: network, a pause, or load."
        case .leaseExpired: "Check that PostgreSQL answers; a server that runs goes on by itself."
        case .lostCommits:
            "Put back the database that has them, or stop the server and start it again to go on without them."
        case .notEmpty: "Name another store, or another realm."
        case .copyDiffers:
            "The target is unchanged; the source is intact. Copy again while no other program writes to either."
        default: "See the error codes of PostgreSQL."
        }
    }
}
