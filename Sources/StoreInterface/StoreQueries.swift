import CallCore
import CallVocabulary

/// Reads stored records: the read side of a store. Each query reads one consistent state.
///
/// Records become visible some time after they are durable, half a second under load; ``RecordLog/settle(_:)`` waits
/// for this. Any thread may use it; queries of one object run one after the other. It is ended with ``close()``.
public protocol StoreQueries: Sendable {
    // MARK: Calls

    /// One call with its legs and pushes in order of creation; nil when the store does not have it.
    func call(_ id: CallID) async throws(StoreFailure) -> StoredCall?
    /// One page of a user's calls, in either role, newest first.
    /// - Parameter cursor: the ``CallHistory/next`` of the page before; nil for the first page.
    func history(of user: Handle, after cursor: HistoryCursor?, limit: Int) async throws(StoreFailure) -> CallHistory
    /// The next calls that pass `filter`, newest first. A page may be short or empty and not be the last one.
    func calls(_ filter: CallFilter) async throws(StoreFailure) -> StorePage<CallRecord, CallCursor>
    /// The ended calls of a page, in the order of their ends. Calls that end later come after all that are there, if the
    /// page ends before the time up to which ends are in the store.
    /// - Returns: no cursor for an empty page.
    func endedCalls(_ page: ExportPage) async throws(StoreFailure) -> StorePage<CallRecord, ExportCursor>
    /// The ids of the calls that `part` names, in their order.
    func callIDs(_ part: IDPart<CallSubject>, limit: Int) async throws(StoreFailure) -> [CallID]
    /// The number of stored calls, or a little more. Cheap.
    func callCount() async throws(StoreFailure) -> Int
    /// The next ids of calls in their order.
    /// - Parameter last: the last id of the slice before; nil for the first slice.
    /// - Returns: fewer than `limit` when no call is left.
    func callIDs(after last: CallID?, limit: Int) async throws(StoreFailure) -> [CallID]
    /// The live calls and those with an open push, with their legs and pushes, the open pushes about missed calls,
    /// and the suspended devices. The rest of the state is empty.
    func openCalls() async throws(StoreFailure) -> RecoveredState

    // MARK: Pushes

    /// One push; nil when the store does not have it.
    func push(_ id: PushID) async throws(StoreFailure) -> PushRecord?
    /// The next pushes that pass `filter`, newest first. A page may be short or empty and not be the last one.
    func pushes(_ filter: PushFilter) async throws(StoreFailure) -> StorePage<PushRecord, PushCursor>
    /// The pushes of a page, in the order in which they were intended, up to the first one that is open.
    /// - Returns: no cursor for an empty page.
    func closedPushes(_ page: ExportPage) async throws(StoreFailure) -> StorePage<PushRecord, ExportCursor>
    /// The pushes that `part` names, by their ids.
    func pushes(_ part: IDPart<PushSubject>, limit: Int) async throws(StoreFailure) -> [PushRecord]
    /// Pushes that are open past their deadline at `now`, oldest first.
    /// - Parameter since: excludes pushes intended before this time; nil for all.
    func overduePushes(at now: Instant, since: Instant?, limit: Int) async throws(StoreFailure) -> [PushRecord]
    /// Checks the whole store: the conservation laws of the push ledger, and the rules between rows. Seconds for
    /// millions of pushes. A request during an audit gets its result.
    func audit() async throws(StoreFailure) -> StoreAudit

    // MARK: Events for other systems

    /// The next events, in the order of their positions.
    /// - Parameters:
    ///   - position: of the last event of the page before; 0 for the first page.
    ///   - bytes: ends the page after the event whose body exceeds this sum.
    func events(after position: Int64, limit: Int, bytes: Int) async throws(StoreFailure) -> [StoredEvent]
    /// The events at these positions that still exist, in order.
    func events(at positions: [Int64]) async throws(StoreFailure) -> [StoredEvent]
    /// The position of the last event ever stored; 0 before the first.
    func lastEvent() async throws(StoreFailure) -> Int64
    /// The position before the first event from `time` on.
    func eventPosition(before time: Instant) async throws(StoreFailure) -> Int64

    // MARK: Devices and the directory

    /// One device with its tokens; nil when the store does not have it.
    func device(_ key: DeviceKey) async throws(StoreFailure) -> DeviceRecord?
    /// The devices that match `filter`, with their tokens, by user and device.
    func devices(_ filter: DeviceFilter) async throws(StoreFailure) -> [DeviceRecord]
    /// The next groups, by the bytes of their names.
    /// - Parameter name: the last name of the page before; nil for the first page.
    func groups(after name: String?, limit: Int) async throws(StoreFailure) -> [CallGroup]
    /// The next aliases, by the bytes of their own handles.
    /// - Parameter handle: the last alias of the page before; nil for the first page.
    func aliases(after handle: Handle?, limit: Int) async throws(StoreFailure) -> [Alias]
    /// What the store has of each of `wanted`, in its order; all of one consistent state.
    func found(_ wanted: [Wanted]) async throws(StoreFailure) -> [Found]
    /// Users with a device that was not seen since `time`, among the next devices in the order of their keys.
    /// - Parameters:
    ///   - last: where the slice before ended; nil for the first slice.
    ///   - limit: the number of devices in the slice.
    /// - Returns: the users, and where the slice ends; nil after the last device.
    func unseenUsers(
        since time: Instant, after last: DeviceKey?, limit: Int
    ) async throws(StoreFailure) -> (users: [Handle], end: DeviceKey?)

    /// Ends the thread and the connection. Queries fail from then on (``StoreFailure/Reason/closed``).
    func close() async
}
