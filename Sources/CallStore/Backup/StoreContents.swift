import CallVocabulary
import GRDB
import RecordTables
import StoreInterface

/// The contents of a database file that was checked to be a store.
public struct StoreContents: Equatable, Sendable {
    /// The schema version, as `v4`.
    public var version: String
    /// Whether that is the version of this program; a server migrates an older store at its next start.
    public var isCurrent: Bool
    /// In bytes.
    public var size: Int64
    public var calls: Int
    /// The number of calls that had not ended.
    public var liveCalls: Int
    public var pushes: Int
    public var devices: Int
    /// The creation times of the oldest and the newest call; nil without calls.
    public var oldestCall: Instant?
    public var newestCall: Instant?
    /// Whether pages of a salvaged store did not match their checksums and were copied as they are.
    public var hasDamagedPages = false
    /// The audit of its push ledger. A store may be undamaged and its ledger inconsistent.
    public var audit: StoreAudit

    /// Checks a whole file: every page and index, the schema version, the last position of events, and the ledger. Takes
    /// seconds for millions of rows.
    ///
    /// - Throws: ``StoreFailure`` when the file is missing, is no store, is damaged, or was written by a later version.
    public init(file: String) throws(StoreFailure) {
        // Refuses a database that was copied from a running server without its other files.
        if !StoreFolder.isEmpty(file) { _ = try StoreCheck.doubts(about: file) }
        self = try StoreFile.read(file) { database in
            let problems = try String.fetchAll(database, sql: "PRAGMA integrity_check(3)")
            guard problems == ["ok"] else {
                throw StoreFailure(.corrupted, path: file, detail: problems.joined(separator: "; "))
            }
            try Schema.refuseNewer(database, path: file)
            guard let version = try Schema.version(of: database) else {
                throw StoreFailure(.noBackup, path: file, detail: "the file holds no store")
            }
            try Schema.refuseForeign(database, path: file)
            // Otherwise the restored store would be refused by a start.
            if try database.tableExists("event") { try TableQueries(database).refuseLatePositions() }
            return try Self(database, version: version, size: StoreFolder.size(file))
        }
    }

    private init(_ database: Database, version: String, size: Int64) throws {
        func count(_ what: String) throws -> Int {
            try Int.fetchOne(database, sql: "SELECT count(*) FROM \(what)") ?? 0
        }
        func time(_ which: String) throws -> Instant? {
            try Int64.fetchOne(database, sql: "SELECT \(which)(created_at) FROM call").map { Instant(milliseconds: $0) }
        }
        self.version = version
        isCurrent = version == Schema.newest
        self.size = size
        calls = try count("call")
        liveCalls = try count("call WHERE state <> 'ended'")
        pushes = try count("push")
        devices = try count("device")
        (oldestCall, newestCall) = (try time("min"), try time("max"))
        let columns = try Set(database.columns(in: "push").map(\.name))
        audit = try TableQueries(database).audit(
            hasPurposes: columns.contains("purpose"), hasCallSerials: columns.contains("call_serial"))
    }
}
