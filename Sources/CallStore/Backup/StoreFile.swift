import GRDB
import GRDBSQLite
import StoreInterface

/// A database file, looked at and copied through a connection that cannot write.
enum StoreFile {
    /// Runs `body` on one consistent state of the database, and leaves nothing beside the file that was not there.
    static func read<Result>(_ path: String, _ body: (Database) throws -> Result) throws(StoreFailure) -> Result {
        guard StoreFolder.exists(path), !StoreFolder.isDirectory(path) else {
            throw StoreFailure(
                .noBackup, path: path,
                detail: StoreFolder.isDirectory(path) ? "it is a folder" : "there is no such file")
        }
        // A file that was copied by other means may be in WAL mode: reading it makes these, and leaves them there.
        let made = StoreFolder.companions(of: path).filter { !StoreFolder.exists($0) }
        defer { for path in made { try? StoreFolder.remove(path) } }
        return try connect(path) { queue in try queue.read(body) }
    }

    /// Writes a copy of the database at `path`, as of now, into the empty file `draft`, and has it on disk.
    ///
    /// `VACUUM INTO` reads in one transaction: commits go on meanwhile, in this process and in others, and the copy has
    /// none of them. The backup interface of SQLite either does the same, and copies free pages too, or goes in steps,
    /// and starts anew whenever another process commits.
    /// - Parameter progress: told every now and then how many bytes are written, of about how many.
    static func copy(
        _ path: String, to draft: String, salvaging: Bool = false, progress: @escaping (Int64, Int64) -> Void
    ) throws(StoreFailure) {
        // The journal first: what goes from it meanwhile is in the tables that are copied then.
        let late = salvaging ? (try? JournalEntries.read(of: path)) ?? nil : try JournalEntries.read(of: path)
        try connect(path) { queue in
            // Not `read`, which forbids every statement that writes, though it be elsewhere.
            try queue.inDatabase { database in
                let pages = try Int64.fetchOne(
                    database,
                    sql: """
                        SELECT (page_count - freelist_count) * page_size
                        FROM pragma_page_count, pragma_freelist_count, pragma_page_size
                        """)
                try CopyProgress.report(on: database, { progress(StoreFolder.size(draft), pages ?? 0) }) {
                    try database.execute(sql: "VACUUM INTO ?", arguments: [draft])
                }
            }
        }
        do {
            try settle(draft, late)
        } catch  where salvaging {
            try settle(draft, nil)
        }
        try StoreFolder.sync(draft)
    }

    /// Brings what stood in the journal into the tables of the copy: they are then what was acknowledged at that moment. A
    /// store of version 6 or older has its journal in itself, for the server that brings it up to date.
    private static func settle(_ draft: String, _ late: JournalEntries?) throws(StoreFailure) {
        try connect(draft, isReadOnly: false) { queue in
            guard try queue.read({ try SettledCommits.areKept(in: $0) }) else { return }
            try late?.settle(queue)
            try queue.write { try SettledCommits.begin($0) }
        }
    }

    /// Brings what the journal beside the database at `path` holds into the tables.
    /// - Returns: whether the tables have all that was acknowledged.
    static func settle(_ path: String) throws(StoreFailure) -> Bool {
        let late = try JournalEntries.read(of: path)
        return try connect(path, isReadOnly: false) { queue in
            guard try queue.read({ try SettledCommits.areKept(in: $0) }) else { return late == nil }
            try late?.settle(queue)
            try queue.write { try SettledCommits.noteClosed($0) }
            return true
        }
    }

    /// Merges the WAL of the database at `path` into it, which nobody else may write. Nothing but an empty WAL is left.
    static func foldLog(into path: String) throws(StoreFailure) {
        try connect(path, isReadOnly: false) { queue in
            try queue.inDatabase { database in
                let isBusy = try Bool.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
                guard isBusy == false else {
                    throw StoreFailure(.busy, path: path, detail: "another program reads the store")
                }
            }
        }
    }

    private static func connect<Result>(
        _ path: String, isReadOnly: Bool = true, _ body: (DatabaseQueue) throws -> Result
    ) throws(StoreFailure) -> Result {
        var configuration = Configuration()
        configuration.label = "store file"
        configuration.readonly = isReadOnly
        configuration.busyMode = .timeout(5)
        // In KiB when negative: the checks look rows up by random ids.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -65536") }
        return try StoreFailure.wrap(path) {
            let queue = try StoreConnection.open(path, configuration)
            let result = try body(queue)
            try queue.close()
            return result
        }
    }
}

/// Calls back from within a long statement.
private final class CopyProgress {
    /// Steps of SQLite's machine between two calls: a few milliseconds' worth.
    private static let steps: Int32 = 20_000

    let report: () -> Void

    private init(_ report: @escaping () -> Void) { self.report = report }

    static func report<Result>(
        on database: Database, _ report: @escaping () -> Void, during body: () throws -> Result
    ) rethrows -> Result {
        let progress = CopyProgress(report)
        // SQLite holds the pointer until the handler is taken away below; `progress` lives until then.
        sqlite3_progress_handler(
            database.sqliteConnection, steps, onProgress, Unmanaged.passUnretained(progress).toOpaque())
        defer {
            sqlite3_progress_handler(database.sqliteConnection, 0, nil, nil)
            withExtendedLifetime(progress) {}
        }
        return try body()
    }
}

private func onProgress(_ progress: UnsafeMutableRawPointer?) -> Int32 {
    guard let progress else { return 0 }
    Unmanaged<CopyProgress>.fromOpaque(progress).takeUnretainedValue().report()
    // Go on.
    return 0
}
