import CallCore
import CallStore
import CallVocabulary
import PostgresStore
import RecordTables
import StoreInterface

/// What the stores of tests are.
enum WorldStore: String, CaseIterable, Sendable {
    case sqlite
    case postgreSQL
}

/// Reads the store of a world, of either kind.
final class WorldReader: Sendable {
    private let reader: any TableReader

    init(_ reader: any TableReader) { self.reader = reader }

    deinit { reader.close() }

    func call(_ id: CallID) throws(StoreFailure) -> StoredCall? { try reader.readCall(id) }

    func calls(_ filter: CallFilter = CallFilter()) throws(StoreFailure) -> [CallRecord] {
        try reader.readCalls(filter)
    }

    func pushes(_ filter: PushFilter = PushFilter()) throws(StoreFailure) -> [PushRecord] {
        try reader.readPushes(filter)
    }

    func push(_ id: PushID) throws(StoreFailure) -> PushRecord? { try reader.readPush(id) }

    func overduePushes(at now: Instant) throws(StoreFailure) -> [PushRecord] { try reader.readOverduePushes(at: now) }

    func devices(user: Handle? = nil) throws(StoreFailure) -> [DeviceRecord] { try reader.readDevices(user: user) }

    func device(_ key: DeviceKey) throws(StoreFailure) -> DeviceRecord? { try reader.readDevice(key) }

    func history(of user: Handle, limit: Int) throws(StoreFailure) -> CallHistory {
        try reader.readHistory(of: user, limit: limit)
    }

    func callCount() throws(StoreFailure) -> Int { try reader.readCallCount() }

    func groups() throws(StoreFailure) -> [CallGroup] { try reader.readGroups() }

    func aliases() throws(StoreFailure) -> [Alias] { try reader.readAliases() }

    func ledgerCounts() throws(StoreFailure) -> LedgerCounts { try reader.readLedgerCounts() }

    func audit() throws(StoreFailure) -> StoreAudit { try reader.readAudit() }
}

/// An existential reader has no queries of its own.
extension TableReader {
    fileprivate func readCall(_ id: CallID) throws(StoreFailure) -> StoredCall? {
        try query { try $0.call(id) }
    }

    fileprivate func readCalls(_ filter: CallFilter) throws(StoreFailure) -> [CallRecord] {
        try query { try $0.calls(filter) }
    }

    fileprivate func readPushes(_ filter: PushFilter) throws(StoreFailure) -> [PushRecord] {
        try query { try $0.pushes(filter) }
    }

    fileprivate func readPush(_ id: PushID) throws(StoreFailure) -> PushRecord? {
        try query { try $0.push(id) }
    }

    fileprivate func readOverduePushes(at now: Instant) throws(StoreFailure) -> [PushRecord] {
        try query { try $0.overduePushes(at: now, since: nil, limit: 100) }
    }

    fileprivate func readDevices(user: Handle?) throws(StoreFailure) -> [DeviceRecord] {
        try query { try $0.devices(DeviceFilter(user: user, limit: .max)) }
    }

    fileprivate func readDevice(_ key: DeviceKey) throws(StoreFailure) -> DeviceRecord? {
        try query { try $0.device(key) }
    }

    fileprivate func readHistory(of user: Handle, limit: Int) throws(StoreFailure) -> CallHistory {
        try query { try $0.history(of: user, after: nil, limit: limit) }
    }

    fileprivate func readCallCount() throws(StoreFailure) -> Int {
        try query { try $0.callCount() }
    }

    fileprivate func readGroups() throws(StoreFailure) -> [CallGroup] {
        try query { try $0.groups(after: nil, limit: .max) }
    }

    fileprivate func readAliases() throws(StoreFailure) -> [Alias] {
        try query { try $0.aliases(after: nil, limit: .max) }
    }

    fileprivate func readLedgerCounts() throws(StoreFailure) -> LedgerCounts {
        try query { try $0.ledgerCounts() }
    }

    fileprivate func readAudit() throws(StoreFailure) -> StoreAudit {
        try query { try $0.audit() }
    }
}
