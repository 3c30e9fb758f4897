import AdminProtocol
import CallCore
import CallMonitor
import CallStore
import CallVocabulary

/// A request answered by the store: in a running server on a thread that may block, or directly from a stopped server's
/// folder by a command.
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
    /// How long after its deadline a push counts as overdue: a busy server handles deadlines a little late.
    private static let grace = Duration.seconds(15)

    /// Checks the whole ledger of a store: seconds for millions of pushes.
    /// - Parameter since: reports only overdue pushes intended at or after this.
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
