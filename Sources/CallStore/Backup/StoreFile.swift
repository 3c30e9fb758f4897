import GRDB
import GRDBSQLite
import StoreInterface

/// Reads and copies a database file through a read-only connection.
enum StoreFile {
    /// Runs `body` on one consistent state of the database, and leaves no new files beside it.
    static func read<Result>(_ path: String, _ body: (Database) throws -> Result) throws(StoreFailure) -> Result {
        guard StoreFolder.exists(path), !StoreFolder.isDirectory(path) else {
            throw StoreFailure(
                .noBackup, path: path,
                detail: StoreFolder.isDirectory(path) ? "it is a folder" : "there is no such file")
        }
        guard !StoreFolder.isPipeOrDevice(path) else {
            throw StoreFailure(.noBackup, path: path, detail: "it is a pipe or a device; give a file")
        }
        // Reading a WAL-mode file creates these companions, and SQLite leaves them there.
        let made = StoreFolder.companions(of: path).filter { !StoreFolder.exists($0) }
        defer { for path in made { try? StoreFolder.remove(path) } }
        return try connect(path) { queue in try queue.read(body) }
    }

    /// Writes a consistent copy of the database at `path` to the empty file `draft`, and syncs it.
    ///
    /// `VACUUM INTO` reads in one transaction: commits continue meanwhile, in this and in other processes, and are not
    /// in the copy. SQLite's backup interface either does the same and copies free pages too, or copies in steps and
    /// restarts whenever another process commits.
    /// - Parameter progress: called from time to time with the bytes written, and the approximate total.
    static func copy(
        _ path: String, to draft: String, salvaging: Bool = false, progress: @escaping (Int64, Int64) -> Void
    ) throws(StoreFailure) {
        // The journal is read first: entries applied meanwhile are then in the copied tables.
        let late = salvaging ? (try? JournalEntries.read(of: path)) ?? nil : try JournalEntries.read(of: path)
        try connect(path, verifying: !salvaging) { queue in
            // Not `read`, which forbids every writing statement, even one that writes elsewhere.
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

    /// Applies the journal to the tables of the copy, which then hold all that was acknowledged at that moment. A store
    /// of version 6 or older has its journal inside, for the server that migrates it.
    private static func settle(_ draft: String, _ late: JournalEntries?) throws(StoreFailure) {
        try connect(draft, isReadOnly: false) { queue in
            guard try queue.read({ try SettledCommits.areKept(in: $0) }) else { return }
            try late?.settle(queue)
            try queue.write { try SettledCommits.begin($0) }
        }
    }

    /// Applies the journal beside the database at `path` to its tables.
    /// - Returns: whether the tables hold all that was acknowledged.
    static func settle(_ path: String) throws(StoreFailure) -> Bool {
        let late = try JournalEntries.read(of: path)
        return try connect(path, isReadOnly: false) { queue in
            guard try queue.read({ try SettledCommits.areKept(in: $0) }) else { return late == nil }
            try late?.settle(queue)
            try queue.write { try SettledCommits.noteClosed($0) }
            return true
        }
    }

    /// Merges the WAL of the database at `path` into it, leaving an empty WAL. No other connection may write it.
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
        _ path: String, isReadOnly: Bool = true, verifying: Bool = true, _ body: (DatabaseQueue) throws -> Result
    ) throws(StoreFailure) -> Result {
        var configuration = StoreConnection.common("store file")
        configuration.readonly = isReadOnly
        // A negative value is in KiB: the checks look rows up by random ids.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -65536") }
        return try StoreFailure.wrap(path) {
            let queue = try StoreConnection.open(path, configuration, verifying: verifying)
            let result = try body(queue)
            try queue.close()
            return result
        }
    }
}

/// Reports progress from within a long statement.
private final class CopyProgress {
    /// Virtual machine steps between two reports: a few milliseconds.
    private static let steps: Int32 = 20_000

    let report: () -> Void

    private init(_ report: @escaping () -> Void) { self.report = report }

    static func report<Result>(
        on database: Database, _ report: @escaping () -> Void, during body: () throws -> Result
    ) rethrows -> Result {
        let progress = CopyProgress(report)
        // SQLite holds the pointer until the handler is removed below; `progress` lives until then.
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
    // 0 continues the statement.
    return 0
}
