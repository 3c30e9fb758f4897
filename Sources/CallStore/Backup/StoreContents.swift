import CallVocabulary
import GRDB
import StoreInterface

/// What a file holds that was found to be a sound store.
public struct StoreContents: Equatable, Sendable {
    /// Of the schema, as `v4`.
    public var version: String
    /// Whether that is the version of this program; a server brings an older one up to date at its next start.
    public var isCurrent: Bool
    /// Of the file, in bytes.
    public var size: Int64
    public var calls: Int
    /// Those of the calls that were not over.
    public var liveCalls: Int
    public var pushes: Int
    public var devices: Int
    /// When the oldest and the newest call were created; nil without calls.
    public var oldestCall: Instant?
    public var newestCall: Instant?
    /// The books of its pushes. A store can be sound and its books not balanced.
    public var audit: StoreAudit

    /// Checks a file as a whole: every page and index, the schema's version, and the books. Seconds for
    /// millions of rows.
    ///
    /// - Throws: ``StoreFailure``: there is no such file, it holds no store, is damaged, or a later version wrote it.
    public init(file: String) throws(StoreFailure) {
        // A file that was copied from under a server, without what belonged to it.
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
        audit = try StoreAudit(database)
    }
}
