import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary
import StoreInterface

/// A request answered from the store: in a running server on a thread that may block; for a stopped server by a command
/// that opens the data folder.
package protocol StoredRequest: AdminRequest {
    /// Whether the response shows every change made before the request.
    static var showsLatest: Bool { get }

    /// - Throws: `AdminRefusal`, `StoreFailure`.
    func read(_ store: any StoreQueries, now: Instant) async throws -> Response
}

extension StoredRequest {
    package static var showsLatest: Bool { false }
}

extension GetCall: StoredRequest {
    package func read(_ store: any StoreQueries, now: Instant) async throws -> CallDetail {
        guard let call = try await store.call(callID) else {
            throw AdminRefusal(.notFound, "There is no call \(callID).")
        }
        return CallDetail(call)
    }
}

extension GetPush: StoredRequest {
    package func read(_ store: any StoreQueries, now: Instant) async throws -> PushView {
        guard let push = try await store.push(pushID) else {
            throw AdminRefusal(.notFound, "There is no push \(pushID).")
        }
        return PushView(push)
    }
}

extension AuditPushes: StoredRequest {
    package func read(_ store: any StoreQueries, now: Instant) async throws -> AuditView {
        try await AuditView(auditing: store, now: now, since: sinceMilliseconds.map { Instant(milliseconds: $0) })
    }
}

extension AuditView {
    /// How long after its deadline a push counts as overdue: a busy server handles deadlines a little late.
    private static let grace = Duration.seconds(15)

    /// Checks the whole ledger of a store: seconds for millions of pushes.
    /// - Parameter since: reports only overdue pushes intended at or after this.
    fileprivate init(auditing store: any StoreQueries, now: Instant, since: Instant?) async throws(StoreFailure) {
        let audit = try await store.audit()
        let overdue = try await store.overduePushes(at: now + (.zero - Self.grace), since: since, limit: 100)
        self.init(audit.counts, violations: audit.violations, overdue: overdue)
    }
}

extension GetDevice: StoredRequest {
    package func read(_ store: any StoreQueries, now: Instant) async throws -> DeviceView {
        guard let device = try await store.device(DeviceKey(user: user, device: deviceID)) else {
            throw AdminRefusal(.notFound, "\(user) has no device \(deviceID).")
        }
        return DeviceView(device)
    }
}
