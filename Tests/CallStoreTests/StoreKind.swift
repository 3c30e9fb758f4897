import CallCore
import CallVocabulary
import GRDB
import RecordTables
import StoreInterface
import StoreTesting
import Testing

@testable import CallStore
@testable import PostgresStore

/// The stores that the tests of behaviour run on.
enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
    case sqlite
    case postgreSQL

    var testDescription: String { rawValue }
}

/// An open store of either kind.
enum OpenStore {
    case sqlite(CallStore, TemporaryFolder)
    case postgreSQL(PostgresStore)

    static func open(_ kind: StoreKind) async throws -> OpenStore {
        switch kind {
        case .sqlite:
            let folder = try TemporaryFolder()
            return .sqlite(try CallStore.open(folder: folder.path), folder)
        case .postgreSQL:
            return .postgreSQL(try PostgresStore.open(try await PostgresServer.freshAddress(), name: "a test"))
        }
    }

    /// - Returns: how many rows were written.
    @discardableResult
    func commit(_ records: [StoreRecord]) throws(StoreFailure) -> Int {
        switch self {
        case .sqlite(let store, _): try store.commit(records)
        case .postgreSQL(let store): try store.commit(records)
        }
    }

    /// Changes rows by hand.
    func execute(_ sql: String) throws {
        switch self {
        case .sqlite(let store, _): try store.tables.queue.write { try $0.execute(sql: sql) }
        case .postgreSQL(let store): try PostgresStore.execute(sql, in: store.address)
        }
    }

    func recover() throws(StoreFailure) -> RecoveredState {
        switch self {
        case .sqlite(let store, _): try store.recover()
        case .postgreSQL(let store): try store.recover()
        }
    }

    func reader() throws(StoreFailure) -> any TableReader {
        switch self {
        case .sqlite(_, let folder): try StoreReader.open(folder: folder.path)
        case .postgreSQL(let store): PostgresReader(store.address)
        }
    }

    var retentionTables: any RetentionTables {
        switch self {
        case .sqlite(let store, _): store.tables
        case .postgreSQL(let store): store.retentionTables
        }
    }

    /// Passes the store to a log, which closes it.
    func log(capacity: Int = GroupCommitter.defaultCapacity, behind: WriteBehind = WriteBehind()) throws
        -> any RecordLog
    {
        switch self {
        case .sqlite(let open, _):
            // The test does not use the store itself any more.
            nonisolated(unsafe) let store = open
            return try GroupCommitter(store: store, capacity: capacity, behind: behind)
        case .postgreSQL(let open):
            nonisolated(unsafe) let store = open
            return try PostgresCommitter(store: store, capacity: capacity, behind: behind)
        }
    }

    func startRetention(
        _ policy: RetentionPolicy, _ pace: RetentionPace, _ log: any RecordLog, now: @escaping @Sendable () -> Instant
    ) {
        (log as? GroupCommitter)?.startRetention(policy, pace: pace, now: now)
        (log as? PostgresCommitter)?.startRetention(policy, pace: pace, now: now)
    }

    func close() {
        switch self {
        case .sqlite(let store, _): store.close()
        case .postgreSQL(let store): store.close()
        }
    }

    /// Closes the store and opens it again.
    func reopened() throws(StoreFailure) -> OpenStore {
        close()
        switch self {
        case .sqlite(_, let folder): return .sqlite(try CallStore.open(folder: folder.path), folder)
        case .postgreSQL(let store): return .postgreSQL(try PostgresStore.open(store.address, name: "a test"))
        }
    }
}

/// A fresh store of a kind with `records` in it, and a reader beside it.
func withStore(
    _ kind: StoreKind, _ records: [StoreRecord] = [], _ body: (OpenStore, any TableReader) throws -> Void
) async throws {
    let store = try await OpenStore.open(kind)
    defer { store.close() }
    try store.commit(records)
    let reader = try store.reader()
    defer { reader.close() }
    try body(store, reader)
}

extension TableReader {
    func call(_ id: CallID) throws(StoreFailure) -> StoredCall? { try query { try $0.call(id) } }

    func history(
        of user: Handle, after cursor: HistoryCursor? = nil, limit: Int
    ) throws(StoreFailure) -> CallHistory {
        try query { try $0.history(of: user, after: cursor, limit: limit) }
    }

    func calls(_ filter: CallFilter = CallFilter()) throws(StoreFailure) -> [CallRecord] {
        try query { try $0.calls(filter) }
    }

    func callPage(
        _ filter: CallFilter, scanning: Int = StoreReader.scanLimit
    ) throws(StoreFailure) -> StorePage<CallRecord, CallCursor> {
        try query { try $0.callPage(filter, scanning: scanning) }
    }

    func endedCalls(_ page: ExportPage) throws(StoreFailure) -> StorePage<CallRecord, ExportCursor> {
        try query { try $0.endedCalls(page) }
    }

    func callCount() throws(StoreFailure) -> Int { try query { try $0.callCount() } }

    func callIDs(after last: CallID? = nil, limit: Int) throws(StoreFailure) -> [CallID] {
        try query { try $0.callIDs(after: last, limit: limit) }
    }

    func callIDs(_ part: IDPart<CallSubject>, limit: Int) throws(StoreFailure) -> [CallID] {
        try query { try $0.callIDs(part, limit: limit) }
    }

    func push(_ id: PushID) throws(StoreFailure) -> PushRecord? { try query { try $0.push(id) } }

    func pushes(_ filter: PushFilter = PushFilter()) throws(StoreFailure) -> [PushRecord] {
        try query { try $0.pushes(filter) }
    }

    func pushPage(
        _ filter: PushFilter, scanning: Int = StoreReader.scanLimit
    ) throws(StoreFailure) -> StorePage<PushRecord, PushCursor> {
        try query { try $0.pushPage(filter, scanning: scanning) }
    }

    func closedPushes(_ page: ExportPage) throws(StoreFailure) -> StorePage<PushRecord, ExportCursor> {
        try query { try $0.closedPushes(page) }
    }

    func pushes(_ part: IDPart<PushSubject>, limit: Int) throws(StoreFailure) -> [PushRecord] {
        try query { try $0.pushes(part, limit: limit) }
    }

    func overduePushes(
        at now: Instant, since: Instant? = nil, limit: Int = 100
    ) throws(StoreFailure) -> [PushRecord] {
        try query { try $0.overduePushes(at: now, since: since, limit: limit) }
    }

    func ledgerCounts() throws(StoreFailure) -> LedgerCounts { try query { try $0.ledgerCounts() } }

    func audit() throws(StoreFailure) -> StoreAudit { try query { try $0.audit() } }

    func events(after position: Int64, limit: Int, bytes: Int) throws(StoreFailure) -> [StoredEvent] {
        try query { try $0.events(after: position, limit: limit, bytes: bytes) }
    }

    func events(at positions: [Int64]) throws(StoreFailure) -> [StoredEvent] {
        try query { try $0.events(at: positions) }
    }

    func lastEvent() throws(StoreFailure) -> Int64 { try query { try $0.lastEvent() } }

    func eventPosition(before time: Instant) throws(StoreFailure) -> Int64 {
        try query { try $0.eventPosition(before: time) }
    }

    func devices(user: Handle? = nil) throws(StoreFailure) -> [DeviceRecord] {
        try query { try $0.devices(DeviceFilter(user: user, limit: .max)) }
    }

    func devices(_ filter: DeviceFilter) throws(StoreFailure) -> [DeviceRecord] { try query { try $0.devices(filter) } }

    func device(_ key: DeviceKey) throws(StoreFailure) -> DeviceRecord? { try query { try $0.device(key) } }

    func groups() throws(StoreFailure) -> [CallGroup] { try query { try $0.groups(after: nil, limit: .max) } }

    func aliases() throws(StoreFailure) -> [Alias] { try query { try $0.aliases(after: nil, limit: .max) } }

    /// The first column of the first row, as a number.
    func number(_ sql: String) throws(StoreFailure) -> Int64? {
        try query { try $0.source.statement(sql).first { $0.int() } }
    }
}
