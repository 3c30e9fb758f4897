import CallVocabulary

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

    // MARK: Records

    /// A record against the one it takes the place of.
    func violation(of record: StoreRecord, in store: MemoryStore) -> String? {
        switch record {
        case .call(let call): violation(of: call, after: store.calls[call.id])
        case .leg(let leg): violation(of: leg, in: store)
        case .push(let push): violation(of: push, in: store)
        case .device, .deviceDropped, .descriptions, .descriptionsDropped, .absence, .missed, .missedCleared,
            .candidates, .candidatesDropped,
            .group,
            .groupDeleted, .user, .alias, .aliasDeleted:
            nil
        }
    }

    private func violation(of call: CallRecord, after old: CallRecord?) -> String? {
        guard let old else { return nil }
        // A call id that the core has forgotten may begin anew; the store's answer stands in for the core's by then.
        let order = CallState.allCases
        if old.state == .ended { return "call \(call.id) has a second record after its terminal one" }
        guard let was = order.firstIndex(of: old.state), let now = order.firstIndex(of: call.state), was <= now else {
            return "call \(call.id) went back from \(old.state) to \(call.state)"
        }
        if old.answeredBy != nil, old.answeredBy != call.answeredBy { return "call \(call.id) changed its winner" }
        return nil
    }

    private func violation(of leg: LegRecord, in store: MemoryStore) -> String? {
        if leg.answeredAt != nil, let winner = store.answering[leg.call], winner != leg.device {
            return "call \(leg.call) has two answered legs"
        }
        guard let old = store.legs[MemoryStore.LegKey(call: leg.call, device: leg.device)] else { return nil }
        if old.push != leg.push { return "a leg of \(leg.call) changed its push" }
        if old.state == .ended, old.endReason != .noDevices { return "a leg of \(leg.call) changed after its end" }
        return nil
    }

    private func violation(of push: PushRecord, in store: MemoryStore) -> String? {
        guard let old = store.pushes[push.id] else {
            return push.status == .intended ? nil : "push \(push.id) began as \(push.status)"
        }
        let isLegal: Bool =
            switch (old.status, push.status) {
            case (.intended, .intended), (.intended, .sent), (.intended, .cancelled), (.intended, .expired): true
            case (.sent, .sent), (.sent, .intended), (.sent, .accepted), (.sent, .rejected), (.sent, .unknown): true
            case (.unknown, .unknown), (.unknown, .accepted), (.accepted, .accepted): true
            // Withdrawn because the device was awake, and the device is out of reach again.
            case (.cancelled, .intended): old.purpose == .call && old.sentAt == nil
            case (.intended, _), (.sent, _), (.unknown, _), (.accepted, _): false
            case (.rejected, _), (.cancelled, _), (.expired, _): false
            }
        guard isLegal else { return "push \(push.id) went from \(old.status) to \(push.status)" }
        if !push.owesReport {
            let isOut = push.status == .sent || push.status == .accepted || push.status == .unknown
            return push.report == (isOut ? .notRequired : nil) ? nil : "push \(push.id) owes no report and has one"
        }
        switch (old.report, push.report) {
        case (nil, nil), (nil, .awaited), (.awaited, _), (.unreported, .unreported), (.unreported, .reportedLate),
            (.unreported, .acted), (.acted, .reported), (.acted, .reportedLate), (.acted, .notRequired),
            (.acted, .filtered),
            (.acted, .reportFailed):
            return nil
        case (.acted, nil) where push.status == .intended || push.status == .rejected: return nil
        case (let was, let now):
            return was == now
                ? nil : "the report of \(push.id) went from \(String(describing: was)) to \(String(describing: now))"
        }
    }

    // MARK: Events

    /// An event as it goes to a session's socket; one that is sent again must be the same.
    mutating func violation(of event: ServerEvent, seq: UInt64, to session: SessionID, store: MemoryStore) -> String? {
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
    func violation(of reply: Reply, in store: MemoryStore) -> String? {
        switch reply {
        case .invited(let call, _, _):
            store.calls[call] == nil ? "an invite was acknowledged before it was durable" : nil
        case .inviteEnded(let call, _): store.calls[call]?.state == .ended ? nil : "an end that is not durable"
        case .done, .opened, .callState, .won, .call, .calls: nil
        }
    }
}

extension ServerEvent {
    /// What the clients' own data takes in the event's frame.
    var frameBytes: Int {
        if case .incoming(let offer) = self { payloadBytes + offer.to.wireBytes } else { payloadBytes }
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
