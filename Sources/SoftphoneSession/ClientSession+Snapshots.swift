import CallVocabulary

/// The server's word on its live calls against what this phone thinks.
extension ClientSession {
    /// A new session: what the server says of its live calls takes the place of what this phone thought.
    mutating func reconcile(with snapshots: [CallSnapshot], now: Duration, effects: inout [SessionEffect]) {
        for snapshot in snapshots {
            if snapshot.role == .callee, snapshot.state.isRingingPhase { forgetGuess(snapshot.call) }
            hangUpIfGivenUp(snapshot.call, snapshot.state, by: snapshot.by, now: now, effects: &effects)
            apply(snapshot, effects: &effects)
        }
        for entry in calls where !snapshots.contains(where: { $0.call == entry.call.id }) {
            // A session limited to one call says nothing of the others.
            if isServed(entry.call.id) { unlisted(entry.call.id, now: now, effects: &effects) }
        }
    }

    /// The server does not list a call that this phone has: it is over, or the server has still to hear of it.
    private mutating func unlisted(_ id: CallID, now: Duration, effects: inout [SessionEffect]) {
        guard let index = index(of: id) else { return }
        let pending = outbox.filter { $0.request.call == id }.map(\.request)
        let isInvited = pending.contains { if case .owner(.invite) = $0 { true } else { false } }
        if isInvited { return }
        if pending.contains(where: \.endsCall) { return end(id, .connectionLost, effects: &effects) }
        calls[index].isUnlisted = true
        let isAsking = pending.contains { request in
            switch request {
            case .call(.answer), .call(.get): true
            case .open, .session, .call, .owner: false
            }
        }
        // Whether it was answered elsewhere, cancelled or lost makes a difference to the user.
        if !isAsking { enqueue(.get(id), ticket: nil, now: now, effects: &effects) }
    }

    /// What was to tell how a call ended that the server does not list came to nothing.
    mutating func settleUnlisted(_ call: CallID, effects: inout [SessionEffect]) {
        guard let index = index(of: call), calls[index].isUnlisted else { return }
        end(call, .connectionLost, effects: &effects)
    }

    /// An answer came to nothing.
    mutating func answerFailed(_ call: CallID, effects: inout [SessionEffect]) {
        guard let index = index(of: call) else { return }
        if calls[index].call.from == nil, calls[index].call.expiresAt == nil {
            // Nothing but that answer was known of the call, and nothing else would ever end it.
            return end(call, .connectionLost, certainty: .guessed, effects: &effects)
        }
        settleUnlisted(call, effects: &effects)
    }

    /// A call that this phone took for lost, and the app was told so, lives on at the server: there is nobody at this
    /// end any more.
    mutating func hangUpIfGivenUp(
        _ call: CallID, _ state: CallState, by: Party?, now: Duration, effects: inout [SessionEffect]
    ) {
        guard state.isLive, let past = ended.last(where: { $0.id == call }), past.certainty != .told else { return }
        let isOurs = past.role == .caller || !state.isRingingPhase && by?.device == configuration.device.id
        if isOurs || past.certainty == .refused { giveUp(call, now: now, effects: &effects) }
    }

    /// The user has turned the call away, and the server does not know.
    /// - Returns: whether that is so; the call must not ring again then.
    mutating func hangUpIfRefused(_ call: CallID, now: Duration, effects: inout [SessionEffect]) -> Bool {
        guard ended.contains(where: { $0.id == call && $0.certainty == .refused }) else { return false }
        giveUp(call, now: now, effects: &effects)
        return true
    }

    /// Before the answer this is a decline, or cancels the call.
    private mutating func giveUp(_ call: CallID, now: Duration, effects: inout [SessionEffect]) {
        guard !outbox.contains(where: { $0.request == .hangup(call, .hangup) }) else { return }
        enqueue(.hangup(call, .hangup), ticket: nil, now: now, effects: &effects)
    }

    mutating func apply(_ snapshot: CallSnapshot, effects: inout [SessionEffect]) {
        let known = index(of: snapshot.call)
        let by = snapshot.by?.device
        let isRinging = snapshot.role == .callee && snapshot.state.isRingingPhase
        let isElsewhere = snapshot.role == .callee && !isRinging && by != nil && by != configuration.device.id
        let isOver = snapshot.state == .ended || isElsewhere
        if known == nil, isOver, endReason(of: snapshot.call) == nil {
            // Its push may still be on the way.
            let reason = snapshot.state == .ended ? snapshot.reason ?? .connectionLost : .answeredElsewhere
            remember(snapshot.call, snapshot.role, reason, isTold: false)
        }
        if known == nil, isOver || endReason(of: snapshot.call) != nil { return }
        var call =
            known.map { calls[$0].call }
            ?? PhoneCall(id: snapshot.call, role: snapshot.role, state: snapshot.state, video: snapshot.video)
        let before = call
        call.advance(to: snapshot.state == .ended ? call.state : snapshot.state)
        call.from = snapshot.from
        call.fromName = snapshot.fromName ?? call.fromName
        call.custom = snapshot.custom ?? call.custom
        call.to = snapshot.to
        call.sdp = snapshot.sdp ?? call.sdp
        call.push = snapshot.push ?? call.push
        if call.state == snapshot.state { call.expiresAt = snapshot.expiresAt }
        call.answeredAt = snapshot.answeredAt ?? call.answeredAt
        call.connectedAt = snapshot.connectedAt ?? call.connectedAt
        call.endedAt = snapshot.endedAt
        call.peerAwaySince = snapshot.peerAwaySince
        call.by = snapshot.by ?? call.by
        call.mergedInto = snapshot.mergedInto
        call.mergedFrom = call.mergedFrom ?? loser(to: call.id)
        // An unknown call that still rings is told when its `call.incoming` comes: each new session gets one, with
        // the candidates that a snapshot lacks.
        if let known {
            calls[known].call = call
            if !isRinging, !isOver { calls[known].isTold = true }
        } else {
            calls.append(CallEntry(call: call, isTold: !isRinging))
        }
        if snapshot.state == .ended {
            let reason = snapshot.reason ?? .connectionLost
            return end(call.id, reason, by: snapshot.by, isOwnAct: snapshot.isOwnAct, effects: &effects)
        }
        if isElsewhere { return end(call.id, .answeredElsewhere, by: snapshot.by, effects: &effects) }
        if known == nil ? !isRinging : call != before { effects.append(.notify(.state(call))) }
    }
}
