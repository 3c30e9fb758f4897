import CallCore
import CallVocabulary
import RecordTables
import StoreInterface

extension StoreReader: TableReader {
    /// The most rows that one page reads: some ten milliseconds.
    public static let scanLimit = 20_000

    package func query<Value>(
        _ body: (TableQueries<SQLiteStatements>) throws -> Value
    ) throws(StoreFailure) -> Value {
        try read { database in try body(TableQueries(database)) }
    }
}

extension StoreReader {
    // MARK: Calls

    /// One call with its legs and pushes in order of creation; nil when the store does not have it.
    public func call(_ id: CallID) throws(StoreFailure) -> StoredCall? { try read { try TableQueries($0).call(id) } }

    /// One page of a user's own calls, in either role, newest first.
    public func history(
        of user: Handle, after cursor: HistoryCursor? = nil, limit: Int
    ) throws(StoreFailure) -> CallHistory {
        try read { try TableQueries($0).history(of: user, after: cursor, limit: limit) }
    }

    /// The calls that match `filter`, newest first. Reads as many rows as it takes; see ``callPage(_:scanning:)`` for a
    /// bounded read.
    public func calls(_ filter: CallFilter = CallFilter()) throws(StoreFailure) -> [CallRecord] {
        try read { try TableQueries($0).calls(filter) }
    }

    /// The next calls that match `filter`, newest first, of the next `scanning` calls.
    public func callPage(
        _ filter: CallFilter, scanning: Int = StoreReader.scanLimit
    ) throws(StoreFailure) -> StorePage<CallRecord, CallCursor> {
        try read { try TableQueries($0).callPage(filter, scanning: scanning) }
    }

    /// The ended calls of a page, in the order of their ends. Damaged rows are left out, and named.
    public func endedCalls(_ page: ExportPage) throws(StoreFailure) -> StorePage<CallRecord, ExportCursor> {
        try read { try TableQueries($0).endedCalls(page) }
    }

    /// The number of calls in the store, or slightly more. O(1).
    public func callCount() throws(StoreFailure) -> Int { try read { try TableQueries($0).callCount() } }

    /// The next slice of call ids, in order.
    public func callIDs(after last: CallID? = nil, limit: Int) throws(StoreFailure) -> [CallID] {
        try read { try TableQueries($0).callIDs(after: last, limit: limit) }
    }

    /// The ids of all calls that match `part`, in order.
    public func callIDs(_ part: IDPart<CallSubject>, limit: Int) throws(StoreFailure) -> [CallID] {
        try read { try TableQueries($0).callIDs(part, limit: limit) }
    }

    // MARK: Pushes

    /// One push; nil when the store does not have it.
    public func push(_ id: PushID) throws(StoreFailure) -> PushRecord? { try read { try TableQueries($0).push(id) } }

    /// The pushes that match `filter`, newest first. Reads as many rows as it takes; see ``pushPage(_:scanning:)`` for
    /// a bounded read.
    public func pushes(_ filter: PushFilter = PushFilter()) throws(StoreFailure) -> [PushRecord] {
        try read { try TableQueries($0).pushes(filter) }
    }

    /// The next pushes that match `filter`, newest first, of the next `scanning` pushes.
    public func pushPage(
        _ filter: PushFilter, scanning: Int = StoreReader.scanLimit
    ) throws(StoreFailure) -> StorePage<PushRecord, PushCursor> {
        try read { try TableQueries($0).pushPage(filter, scanning: scanning) }
    }

    /// The pushes of a page, in the order in which they were intended, up to the first one that is open.
    public func closedPushes(_ page: ExportPage) throws(StoreFailure) -> StorePage<PushRecord, ExportCursor> {
        try read { try TableQueries($0).closedPushes(page) }
    }

    /// All pushes that match `part`, by id.
    public func pushes(_ part: IDPart<PushSubject>, limit: Int) throws(StoreFailure) -> [PushRecord] {
        try read { try TableQueries($0).pushes(part, limit: limit) }
    }

    /// Pushes that should be closed at `now`, oldest first.
    public func overduePushes(
        at now: Instant, since: Instant? = nil, limit: Int = 100
    ) throws(StoreFailure) -> [PushRecord] {
        try read { try TableQueries($0).overduePushes(at: now, since: since, limit: limit) }
    }

    /// Counts the pushes by status. Reads every push: seconds for millions.
    public func ledgerCounts() throws(StoreFailure) -> LedgerCounts { try read { try TableQueries($0).ledgerCounts() } }

    /// Audits the whole store. Reads every push, call and leg once: seconds for millions.
    public func audit() throws(StoreFailure) -> StoreAudit { try read { try TableQueries($0).audit() } }

    // MARK: Events

    func events(after position: Int64, limit: Int, bytes: Int) throws(StoreFailure) -> [StoredEvent] {
        try read { try TableQueries($0).events(after: position, limit: limit, bytes: bytes) }
    }

    func events(at positions: [Int64]) throws(StoreFailure) -> [StoredEvent] {
        try read { try TableQueries($0).events(at: positions) }
    }

    func lastEvent() throws(StoreFailure) -> Int64 { try read { try TableQueries($0).lastEvent() } }

    func eventPosition(before time: Instant) throws(StoreFailure) -> Int64 {
        try read { try TableQueries($0).eventPosition(before: time) }
    }

    // MARK: Devices and the directory

    /// The devices of `user`, or of all users, with their tokens, by user and device.
    public func devices(user: Handle? = nil) throws(StoreFailure) -> [DeviceRecord] {
        try read { try TableQueries($0).devices(DeviceFilter(user: user, limit: .max)) }
    }

    /// The devices that match `filter`, with their tokens, by user and device.
    public func devices(_ filter: DeviceFilter) throws(StoreFailure) -> [DeviceRecord] {
        try read { try TableQueries($0).devices(filter) }
    }

    /// One device with its tokens; nil when the store does not have it.
    public func device(_ key: DeviceKey) throws(StoreFailure) -> DeviceRecord? {
        try read { try TableQueries($0).device(key) }
    }

    /// The groups, by name.
    public func groups() throws(StoreFailure) -> [CallGroup] {
        try read { try TableQueries($0).groups(after: nil, limit: .max) }
    }

    /// The aliases, by their own handle.
    public func aliases() throws(StoreFailure) -> [Alias] {
        try read { try TableQueries($0).aliases(after: nil, limit: .max) }
    }
}

/// Queries on the SQLite store in a folder, on a thread and a connection of their own.
public enum SQLiteQueries {
    /// Opens the store as ``StoreReader/open(folder:replays:)`` does, and starts the thread.
    /// - Parameter thread: the thread's name, at most 15 bytes.
    public static func open(
        folder: String, thread: String, replays: Bool = true
    ) throws(StoreFailure) -> any StoreQueries {
        try ThreadedQueries(try StoreReader.open(folder: folder, replays: replays), path: folder, thread: thread)
    }
}
