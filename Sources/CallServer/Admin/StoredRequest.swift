import AdminProtocol
import CallCore
import CallMonitor
import CallStore
import CallVocabulary

/// A request that the store answers. Read on a thread of its own, which may take its time.
protocol StoredRequest: AdminRequest {
    /// - Throws: `AdminRefusal`, `StoreFailure`.
    func read(_ store: StoreReader, now: Instant) throws -> Response
}

extension GetCall: StoredRequest {
    func read(_ store: StoreReader, now: Instant) throws -> CallDetail {
        guard let call = try store.call(callID) else {
            throw AdminRefusal(.notFound, "There is no call \(callID).")
        }
        return CallDetail(call)
    }
}

extension GetPush: StoredRequest {
    func read(_ store: StoreReader, now: Instant) throws -> PushView {
        guard let push = try store.push(pushID) else {
            throw AdminRefusal(.notFound, "There is no push \(pushID).")
        }
        return PushView(push)
    }
}

extension AuditPushes: StoredRequest {
    /// A busy server gets to what is due a little later.
    private static let grace = Duration.seconds(15)

    func read(_ store: StoreReader, now: Instant) throws -> AuditView {
        let audit = try store.audit()
        return AuditView(
            audit.counts, violations: audit.violations, overdue: try store.overduePushes(at: now + (.zero - Self.grace))
        )
    }
}

extension GetDevice: StoredRequest {
    func read(_ store: StoreReader, now: Instant) throws -> DeviceView {
        guard let device = try store.device(DeviceKey(user: user, device: deviceID)) else {
            throw AdminRefusal(.notFound, "\(user) has no device \(deviceID).")
        }
        return DeviceView(device)
    }
}
