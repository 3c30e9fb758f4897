import CallCore
import CallVocabulary
import EventLoop
import StoreInterface

/// Queries on the SQLite store in a folder, on a thread and a connection of their own.
public final class SQLiteQueries: StoreQueries {
    private let reader: StoreReader
    private let loop: EventLoop
    private let path: String

    private init(reader: StoreReader, loop: EventLoop, path: String) {
        self.reader = reader
        self.loop = loop
        self.path = path
    }

    /// Opens the store as ``StoreReader/open(folder:replays:)`` does, and starts the thread.
    /// - Parameter thread: the thread's name, at most 15 bytes.
    public static func open(folder: String, thread: String, replays: Bool = true) throws(StoreFailure) -> SQLiteQueries
    {
        let reader = try StoreReader.open(folder: folder, replays: replays)
        do {
            let loop = try EventLoop(name: thread, scheduling: .batch)
            loop.start()
            return SQLiteQueries(reader: reader, loop: loop, path: folder)
        } catch {
            reader.close()
            throw StoreFailure(.inputOutput, path: folder, detail: "\(error)")
        }
    }

    public func close() async {
        await loop.stopAndWait()
        reader.close()
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreReader) throws(StoreFailure) -> Value
    ) async throws(StoreFailure) -> Value {
        let result = await loop.run { [reader] in
            Result { () throws(StoreFailure) in try body(reader) }
        }
        guard let result else { throw StoreFailure(.closed, path: path, detail: "the connection is closed") }
        return try result.get()
    }

    // MARK: Calls

    public func call(_ id: CallID) async throws(StoreFailure) -> StoredCall? {
        try await read { reader throws(StoreFailure) in try reader.call(id) }
    }

    public func history(
        of user: Handle, after cursor: HistoryCursor?, limit: Int
    ) async throws(StoreFailure) -> CallHistory {
        try await read { reader throws(StoreFailure) in try reader.history(of: user, after: cursor, limit: limit) }
    }

    public func calls(_ filter: CallFilter) async throws(StoreFailure) -> StorePage<CallRecord, CallCursor> {
        try await read { reader throws(StoreFailure) in try reader.callPage(filter) }
    }

    public func endedCalls(_ page: ExportPage) async throws(StoreFailure) -> StorePage<CallRecord, ExportCursor> {
        try await read { reader throws(StoreFailure) in try reader.endedCalls(page) }
    }

    public func callIDs(_ part: IDPart<CallSubject>, limit: Int) async throws(StoreFailure) -> [CallID] {
        try await read { reader throws(StoreFailure) in try reader.callIDs(part, limit: limit) }
    }

    public func callCount() async throws(StoreFailure) -> Int {
        try await read { reader throws(StoreFailure) in try reader.callCount() }
    }

    public func callIDs(after last: CallID?, limit: Int) async throws(StoreFailure) -> [CallID] {
        try await read { reader throws(StoreFailure) in try reader.callIDs(after: last, limit: limit) }
    }

    public func openCalls() async throws(StoreFailure) -> RecoveredState {
        try await read { reader throws(StoreFailure) in try reader.openCalls() }
    }

    // MARK: Pushes

    public func push(_ id: PushID) async throws(StoreFailure) -> PushRecord? {
        try await read { reader throws(StoreFailure) in try reader.push(id) }
    }

    public func pushes(_ filter: PushFilter) async throws(StoreFailure) -> StorePage<PushRecord, PushCursor> {
        try await read { reader throws(StoreFailure) in try reader.pushPage(filter) }
    }

    public func closedPushes(_ page: ExportPage) async throws(StoreFailure) -> StorePage<PushRecord, ExportCursor> {
        try await read { reader throws(StoreFailure) in try reader.closedPushes(page) }
    }

    public func pushes(_ part: IDPart<PushSubject>, limit: Int) async throws(StoreFailure) -> [PushRecord] {
        try await read { reader throws(StoreFailure) in try reader.pushes(part, limit: limit) }
    }

    public func overduePushes(at now: Instant, since: Instant?, limit: Int) async throws(StoreFailure) -> [PushRecord] {
        try await read { reader throws(StoreFailure) in
            try reader.overduePushes(at: now, since: since, limit: limit)
        }
    }

    public func audit() async throws(StoreFailure) -> StoreAudit {
        try await read { reader throws(StoreFailure) in try reader.audit() }
    }

    // MARK: Events for other systems

    public func events(after position: Int64, limit: Int, bytes: Int) async throws(StoreFailure) -> [StoredEvent] {
        try await read { reader throws(StoreFailure) in
            try reader.events(after: position, limit: limit, bytes: bytes)
        }
    }

    public func events(at positions: [Int64]) async throws(StoreFailure) -> [StoredEvent] {
        try await read { reader throws(StoreFailure) in try reader.events(at: positions) }
    }

    public func lastEvent() async throws(StoreFailure) -> Int64 {
        try await read { reader throws(StoreFailure) in try reader.lastEvent() }
    }

    public func eventPosition(before time: Instant) async throws(StoreFailure) -> Int64 {
        try await read { reader throws(StoreFailure) in try reader.eventPosition(before: time) }
    }

    // MARK: Devices and the directory

    public func device(_ key: DeviceKey) async throws(StoreFailure) -> DeviceRecord? {
        try await read { reader throws(StoreFailure) in try reader.device(key) }
    }

    public func devices(_ filter: DeviceFilter) async throws(StoreFailure) -> [DeviceRecord] {
        try await read { reader throws(StoreFailure) in try reader.devices(filter) }
    }

    public func groups(after name: String?, limit: Int) async throws(StoreFailure) -> [CallGroup] {
        try await read { reader throws(StoreFailure) in try reader.groups(after: name, limit: limit) }
    }

    public func aliases(after handle: Handle?, limit: Int) async throws(StoreFailure) -> [Alias] {
        try await read { reader throws(StoreFailure) in try reader.aliases(after: handle, limit: limit) }
    }

    public func found(_ wanted: [Wanted]) async throws(StoreFailure) -> [Found] {
        try await read { reader throws(StoreFailure) in try reader.found(wanted) }
    }

    public func unseenUsers(
        since time: Instant, after last: DeviceKey?, limit: Int
    ) async throws(StoreFailure) -> (users: [Handle], end: DeviceKey?) {
        try await read { reader throws(StoreFailure) in
            try reader.unseenUsers(since: time, after: last, limit: limit)
        }
    }
}
