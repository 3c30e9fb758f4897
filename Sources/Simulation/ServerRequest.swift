import CallCore
import CallVocabulary
import RecordModel

/// A request as it reached the server, for checking its reply.
struct ServerRequest {
    enum Body {
        case open(SessionOpen)
        case command(ClientRequest)
        case ask(CallRequest)
        case backend(BackendRequest)
    }

    var connection: ConnectionID
    var user: Handle
    /// nil for an HTTP request whose token names no device.
    var device: DeviceID?
    var scope: SessionGrant.Scope
    var body: Body
    var isAnswered = false

    var key: DeviceKey? { device.map { DeviceKey(user: user, device: $0) } }

    var isOfBackend: Bool { if case .backend = body { true } else { false } }

    var report: PushReport? {
        switch body {
        case .ask(.report(let report)), .command(.call(.report(let report))): report
        case .open, .command, .ask, .backend: nil
        }
    }

    var call: CallID? {
        switch body {
        case .open:
            if case .call(let call) = scope { return call }
            return nil
        case .ask(let command): return command.call
        case .command(let command): return command.call
        case .backend(let command): return command.call
        }
    }

    /// Whether the device may make the request, according to the records: only parties act on a call, each in its role.
    func isEntitled(_ disk: Disk) -> Bool {
        guard let id = call else { return needsNoCall }
        if case .call(let only) = scope, only != id { return false }
        let record = disk.calls[id]
        let leg = key.flatMap { disk.leg(id, $0) }
        switch body {
        case .open: return leg != nil
        // A wake token is one device's, and shows what that one may see.
        case .ask(.get): return scope == .full ? isParty(record, disk) : isCaller(of: record) || leg != nil
        case .ask(.report(let report)): return holds(report, disk)
        case .ask(let command): return mayPerform(.call(command), record, leg, disk)
        case .command(let command): return mayPerform(command, record, leg, disk)
        case .backend: return true
        }
    }

    private func mayPerform(_ command: ClientRequest, _ record: CallRecord?, _ leg: LegRecord?, _ disk: Disk) -> Bool {
        switch command {
        case .owner(.invite): scope == .full && record.map { $0.caller.user == user } ?? true
        case .call(.get): isParty(record, disk)
        case .call(.report(let report)): leg?.push == report.push
        case .call(.ringing), .call(.answer), .call(.decline): leg != nil
        case .call(.connected), .call(.hangup): isCaller(of: record) || leg != nil
        case .call(.update):
            isCaller(of: record) || (leg != nil && record?.answeredBy == Party(user: user, device: device))
        case .owner: scope == .full
        case .open, .session: true
        }
    }

    private func isCaller(of record: CallRecord?) -> Bool {
        record.map { $0.caller.user == user && $0.caller.device == device } ?? false
    }

    /// Whether the device has logged out, which its record shows by having no tokens: its wake token is refused from
    /// then on. A token that the provider took back leaves the same record, so that either answer is right.
    func mayHaveLoggedOut(_ disk: Disk) -> Bool {
        scope != .full && key.flatMap { disk.devices[$0] }?.tokens.isEmpty != false
    }

    /// Whether a request without a call is permitted. Other than opening and closing, it needs a full session.
    private var needsNoCall: Bool {
        switch body {
        case .open, .command(.session): true
        case .command, .ask, .backend: scope == .full
        }
    }

    /// Whether the user has a part in the call, on any device.
    private func isParty(_ record: CallRecord?, _ disk: Disk) -> Bool {
        guard let record, disk.knows(user) else { return false }
        return record.caller.user == user || record.callees.contains(user)
            || disk.legs(of: record.id).contains { $0.device.user == user }
    }

    private func holds(_ report: PushReport, _ disk: Disk) -> Bool {
        disk.legs(of: report.call).contains { leg in
            leg.push == report.push && leg.device.user == user && (device.map { $0 == leg.device.device } ?? true)
        }
    }
}

extension ClientRequest {
    /// The name in the trace and in the counters.
    var name: String {
        switch self {
        case .open: "open"
        case .session(.state): "state"
        case .session(.close): "close"
        case .owner(.logout): "logout"
        case .owner(.updateDevice): "update_device"
        case .call(.report): "report"
        case .owner(.invite): "invite"
        case .call(.ringing): "ringing"
        case .call(.answer): "answer"
        case .call(.decline): "decline"
        case .call(.connected): "connected"
        case .call(.hangup): "hangup"
        case .call(.update): "update"
        case .call(.get): "get"
        case .owner(.list): "list"
        case .owner(.clearMissed): "clear_missed"
        }
    }
}

extension ServerEvent {
    var call: CallID? {
        switch self {
        case .incoming(let event): event.call
        case .state(let event): event.call
        case .ended(let event): event.call
        case .candidates(let event): event.call
        case .update(let event): event.call
        case .peer(let event): event.call
        case .draining: nil
        }
    }
}
