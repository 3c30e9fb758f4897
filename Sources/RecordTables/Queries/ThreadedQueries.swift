import CallCore
import CallVocabulary
import EventLoop
import StoreInterface
import Synchronization

/// A connection that reads the tables of a store. Any thread may use it; its reads run one after the other.
package protocol TableReader: Sendable {
    associatedtype Source: StatementSource

    /// Runs `body` on one consistent state of the store.
    func query<Value>(_ body: (TableQueries<Source>) throws -> Value) throws(StoreFailure) -> Value
    /// The live calls and those with an open push: see `StoreQueries.openCalls()`.
    func openCalls() throws(StoreFailure) -> RecoveredState
    /// Ends a read under way, which fails with `StoreFailure.Reason.closed`, as later ones do. A read that is between two
    /// statements goes on to the next one: repeat it. Any thread; does not wait.
    func interrupt()
    /// Later reads fail.
    func close()
}

/// Queries on a store, on a thread of their own.
package final class ThreadedQueries<Reader: TableReader>: StoreQueries {
    /// The most rows that one page reads: some ten milliseconds.
    package static var scanLimit: Int { 20_000 }

    private let reader: Reader
    private let loop: EventLoop
    private let path: String
    /// The audit in progress; nil between audits.
    private let audits = Mutex<Task<Result<StoreAudit, StoreFailure>, Never>?>(nil)

    /// Takes the reader, and starts the thread.
    /// - Parameters:
    ///   - path: the folder or address of the store, for failures.
    ///   - thread: the thread's name, at most 15 bytes.
    package init(_ reader: Reader, path: String, thread: String) throws(StoreFailure) {
        self.reader = reader
        self.path = path
        do {
            loop = try EventLoop(name: thread, scheduling: .batch)
        } catch {
            reader.close()
            throw StoreFailure(.inputOutput, path: path, detail: "\(error)")
        }
        loop.start()
    }

    /// A page that is being read ends by itself; an audit, which may take minutes, is ended.
    package func close() async {
        let interrupts = Task { [reader] in
            try? await Task.sleep(for: .milliseconds(300))
            while !Task.isCancelled {
                reader.interrupt()
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
        await loop.stopAndWait()
        interrupts.cancel()
        await interrupts.value
        reader.close()
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (TableQueries<Reader.Source>) throws -> Value
    ) async throws(StoreFailure) -> Value {
        try await run { reader throws(StoreFailure) in try reader.query(body) }
    }

    private func run<Value: Sendable>(
        _ body: @escaping @Sendable (Reader) throws(StoreFailure) -> Value
    ) async throws(StoreFailure) -> Value {
        let result = await loop.run { [reader] in
            Result { () throws(StoreFailure) in try body(reader) }
        }
        guard let result else { throw StoreFailure(.closed, path: path, detail: "the connection is closed") }
        return try result.get()
    }

    // MARK: Calls

    package func call(_ id: CallID) async throws(StoreFailure) -> StoredCall? {
        try await read { try $0.call(id) }
    }

    package func history(
        of user: Handle, after cursor: HistoryCursor?, limit: Int
    ) async throws(StoreFailure) -> CallHistory {
        try await read { try $0.history(of: user, after: cursor, limit: limit) }
    }

    package func calls(_ filter: CallFilter) async throws(StoreFailure) -> StorePage<CallRecord, CallCursor> {
        try await read { try $0.callPage(filter, scanning: Self.scanLimit) }
    }

    package func endedCalls(_ page: ExportPage) async throws(StoreFailure) -> StorePage<CallRecord, ExportCursor> {
        try await read { try $0.endedCalls(page) }
    }

    package func callIDs(_ part: IDPart<CallSubject>, limit: Int) async throws(StoreFailure) -> [CallID] {
        try await read { try $0.callIDs(part, limit: limit) }
    }

    package func callCount() async throws(StoreFailure) -> Int {
        try await read { try $0.callCount() }
    }

    package func callIDs(after last: CallID?, limit: Int) async throws(StoreFailure) -> [CallID] {
        try await read { try $0.callIDs(after: last, limit: limit) }
    }

    package func openCalls() async throws(StoreFailure) -> RecoveredState {
        try await run { reader throws(StoreFailure) in try reader.openCalls() }
    }

    // MARK: Pushes

    package func push(_ id: PushID) async throws(StoreFailure) -> PushRecord? {
        try await read { try $0.push(id) }
    }

    package func pushes(_ filter: PushFilter) async throws(StoreFailure) -> StorePage<PushRecord, PushCursor> {
        try await read { try $0.pushPage(filter, scanning: Self.scanLimit) }
    }

    package func closedPushes(_ page: ExportPage) async throws(StoreFailure) -> StorePage<PushRecord, ExportCursor> {
        try await read { try $0.closedPushes(page) }
    }

    package func pushes(_ part: IDPart<PushSubject>, limit: Int) async throws(StoreFailure) -> [PushRecord] {
        try await read { try $0.pushes(part, limit: limit) }
    }

    package func overduePushes(at now: Instant, since: Instant?, limit: Int) async throws(StoreFailure) -> [PushRecord]
    {
        try await read {
            try $0.overduePushes(at: now, since: since, limit: limit)
        }
    }

    package func audit() async throws(StoreFailure) -> StoreAudit { try await sharedAudit().value.get() }

    /// The audit in progress, or a new one: whoever asks during an audit gets its result, so that the whole store is read
    /// once for all who ask at a time.
    package func sharedAudit() -> Task<Result<StoreAudit, StoreFailure>, Never> {
        audits.withLock { present in
            if let present { return present }
            let audit = Task { () async -> Result<StoreAudit, StoreFailure> in
                let result: Result<StoreAudit, StoreFailure>
                do throws(StoreFailure) {
                    result = .success(try await read { try $0.audit() })
                } catch {
                    result = .failure(error)
                }
                // Before the result is known: an asker who has it gets a new audit.
                audits.withLock { $0 = nil }
                return result
            }
            present = audit
            return audit
        }
    }

    // MARK: Events for other systems

    package func events(after position: Int64, limit: Int, bytes: Int) async throws(StoreFailure) -> [StoredEvent] {
        try await read {
            try $0.events(after: position, limit: limit, bytes: bytes)
        }
    }

    package func events(at positions: [Int64]) async throws(StoreFailure) -> [StoredEvent] {
        try await read { try $0.events(at: positions) }
    }

    package func lastEvent() async throws(StoreFailure) -> Int64 {
        try await read { try $0.lastEvent() }
    }

    package func eventPosition(before time: Instant) async throws(StoreFailure) -> Int64 {
        try await read { try $0.eventPosition(before: time) }
    }

    // MARK: Devices and the directory

    package func device(_ key: DeviceKey) async throws(StoreFailure) -> DeviceRecord? {
        try await read { try $0.device(key) }
    }

    package func devices(_ filter: DeviceFilter) async throws(StoreFailure) -> [DeviceRecord] {
        try await read { try $0.devices(filter) }
    }

    package func groups(after name: String?, limit: Int) async throws(StoreFailure) -> [CallGroup] {
        try await read { try $0.groups(after: name, limit: limit) }
    }

    package func aliases(after handle: Handle?, limit: Int) async throws(StoreFailure) -> [Alias] {
        try await read { try $0.aliases(after: handle, limit: limit) }
    }

    package func found(_ wanted: [Wanted]) async throws(StoreFailure) -> [Found] {
        try await read { try $0.found(wanted) }
    }

    package func unseenUsers(
        since time: Instant, after last: DeviceKey?, limit: Int
    ) async throws(StoreFailure) -> (users: [Handle], end: DeviceKey?) {
        try await read { try $0.unseenUsers(since: time, after: last, limit: limit) }
    }
}
