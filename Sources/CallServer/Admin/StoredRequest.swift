import AdminProtocol
import CallCore
import CallMonitor
import CallStore
import CallVocabulary

/// A request that the store answers: of a server that runs on a thread of its own, which may take its time; of a folder
/// whose server is stopped where a command asks.
package protocol StoredRequest: AdminRequest {
    /// - Throws: `AdminRefusal`, `StoreFailure`.
    func read(_ store: StoreReader, now: Instant) throws -> Response
}

extension GetCall: StoredRequest {
    package func read(_ store: StoreReader, now: Instant) throws -> CallDetail {
        guard let call = try store.call(callID) else {
            throw AdminRefusal(.notFound, "There is no call \(callID).")
        }
        return CallDetail(call)
    }
}

extension GetPush: StoredRequest {
    package func read(_ store: StoreReader, now: Instant) throws -> PushView {
        guard let push = try store.push(pushID) else {
            throw AdminRefusal(.notFound, "There is no push \(pushID).")
        }
        return PushView(push)
    }
}

extension AuditPushes: StoredRequest {
    package func read(_ store: StoreReader, now: Instant) throws -> AuditView {
        try AuditView(auditing: store, now: now, since: sinceMilliseconds.map { Instant(milliseconds: $0) })
    }
}

extension AuditView {
    /// How far past its time a push is overdue: a busy server gets to what falls due a little later.
    private static let grace = Duration.seconds(15)

    /// Checks the whole ledger of a store: seconds for millions of pushes.
    /// - Parameter since: of what is overdue, only pushes intended at or after this are told.
    fileprivate init(auditing store: StoreReader, now: Instant, since: Instant? = nil) throws(StoreFailure) {
        let audit = try store.audit()
        let overdue = try store.overduePushes(at: now + (.zero - Self.grace), since: since)
        self.init(audit.counts, violations: audit.violations, overdue: overdue)
    }
}

extension GetDevice: StoredRequest {
    package func read(_ store: StoreReader, now: Instant) throws -> DeviceView {
        guard let device = try store.device(DeviceKey(user: user, device: deviceID)) else {
            throw AdminRefusal(.notFound, "\(user) has no device \(deviceID).")
        }
        return DeviceView(device)
    }
}
