import CallVocabulary
import RecordModel

@testable import CallCore

/// What must hold of every effect, whatever happened before it.
struct Invariants {
    private struct SessionLog {
        var scope: SessionGrant.Scope
        var events: [UInt64: ServerEvent] = [:]
        var offered: Set<CallID> = []
        var ended: Set<CallID> = []
    }

    private var sessions: [SessionID: SessionLog] = [:]

    mutating func opened(_ session: SessionID, scope: SessionGrant.Scope) {
        if sessions[session] == nil { sessions[session] = SessionLog(scope: scope) }
    }

    // MARK: Events

    /// An event as it goes to a session's socket; one that is sent again must be the same.
    mutating func violation(of event: ServerEvent, seq: UInt64, to session: SessionID, store: Disk) -> String? {
        guard var log = sessions[session] else { return "an event for a session nobody opened" }
        if let before = log.events[seq] { return before == event ? nil : "event \(seq) was replayed as another" }
        log.events[seq] = event
        defer { sessions[session] = log }
        guard let call = event.call else { return nil }
        if case .call(let only) = log.scope, only != call { return "a wake session was told of another call" }
        if log.ended.contains(call) { return "\(event) after call.ended" }
        if event.frameBytes > 60 * 1024 { return "an event of \(event.frameBytes) bytes does not fit into a frame" }
        switch event {
        case .incoming(let incoming):
            if !log.offered.insert(call).inserted { return "a session was offered \(call) twice" }
            if incoming.push.flatMap({ store.legOfPush[$0] })?.call != call {
                return "offered without a leg"
            }
        case .ended:
            log.ended.insert(call)
            let isDurable = store.calls[call]?.state == .ended || store.left.contains(call)
            if !isDurable { return "call.ended left before it was durable" }
        case .state, .candidates, .update, .peer, .draining: break
        }
        return nil
    }

    /// What is acknowledged is durable.
    func violation(of reply: Reply, in store: Disk) -> String? {
        switch reply {
        case .invited(let call, _, _):
            store.calls[call] == nil ? "an invite was acknowledged before it was durable" : nil
        case .inviteEnded(let call, _): store.calls[call]?.state == .ended ? nil : "an end that is not durable"
        case .done, .opened, .callState, .won, .call, .backendCall, .calls: nil
        }
    }
}

extension ServerEvent {
    /// What the clients' own data takes in the event's frame.
    var frameBytes: Int {
        switch self {
        case .incoming(let offer): payloadBytes + offer.to.wireBytes
        // With a comma each.
        case .candidates(let batch): batch.candidates.reduce(0) { $0 + $1.bytes.count + 1 }
        case .state, .ended, .update, .peer, .draining: payloadBytes
        }
    }

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
