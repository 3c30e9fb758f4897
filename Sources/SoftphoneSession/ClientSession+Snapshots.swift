import CallVocabulary

/// Reconciles this phone's calls with the server's snapshots.
extension ClientSession {
    /// Replaces this phone's view by the live calls that a new session lists.
    mutating func reconcile(with snapshots: [CallSnapshot], now: Duration, effects: inout [SessionEffect]) {
        for snapshot in snapshots {
            if snapshot.role == .callee, snapshot.state.isRingingPhase { forgetGuess(snapshot.call) }
            hangUpIfGivenUp(snapshot.call, snapshot.state, by: snapshot.by, now: now, effects: &effects)
            apply(snapshot, effects: &effects)
        }
        for entry in calls where !snapshots.contains(where: { $0.call == entry.call.id }) {
            // A session limited to one call does not list the others.
            if isServed(entry.call.id) { unlisted(entry.call.id, now: now, effects: &effects) }
        }
    }

    /// Handles a call that the server does not list: it has ended, or the server has not heard of it yet.
    private mutating func unlisted(_ id: CallID, now: Duration, effects: inout [SessionEffect]) {
        guard let index = index(of: id) else { return }
        let pending = outbox.filter { $0.request.call == id }.map(\.request)
        let isInvited = pending.contains { if case .owner(.invite) = $0 { true } else { false } }
        if isInvited, isUnconfirmed(id) { return }
        calls[index].isUnlisted = true
        // The user must see whether the call was answered elsewhere, cancelled or lost: ask the server.
        if !pending.contains(where: \.tellsHowCallStands) {
            enqueue(.get(id), ticket: nil, now: now, effects: &effects)
        }
    }

    /// Ends an unlisted call whose reason could not be obtained.
    mutating func settleUnlisted(_ call: CallID, effects: inout [SessionEffect]) {
        guard let index = index(of: call), calls[index].isUnlisted else { return }
        end(call, .connectionLost, effects: &effects)
    }

    /// Handles an answer that failed.
    mutating func answerFailed(_ call: CallID, effects: inout [SessionEffect]) {
        guard let index = index(of: call) else { return }
        if calls[index].call.from == nil, calls[index].call.expiresAt == nil {
            // Only the answer was known of the call, and nothing else would end it.
            return end(call, .connectionLost, certainty: .guessed, effects: &effects)
        }
        settleUnlisted(call, effects: &effects)
    }

    /// Hangs up a call that lives on at the server although this phone has told the app that it was lost.
    mutating func hangUpIfGivenUp(
        _ call: CallID, _ state: CallState, by: Party?, now: Duration, effects: inout [SessionEffect]
    ) {
        guard state.isLive, let past = ended.last(where: { $0.id == call }), past.certainty != .told else { return }
        let isOurs = past.role == .caller || !state.isRingingPhase && by?.device == configuration.device.id
        if isOurs || past.certainty == .refused { giveUp(call, now: now, effects: &effects) }
    }

    /// Hangs up a call that the user has declined without the server's knowledge.
    /// - Returns: whether there was one; such a call must not ring again.
    mutating func hangUpIfRefused(_ call: CallID, now: Duration, effects: inout [SessionEffect]) -> Bool {
        guard ended.contains(where: { $0.id == call && $0.certainty == .refused }) else { return false }
        giveUp(call, now: now, effects: &effects)
        return true
    }

    /// Sends a hangup; before the answer it declines or cancels the call.
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
            // The call's push may still arrive.
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
        // An unknown ringing call is announced by its `call.incoming`: each new session gets one, with the candidates
        // that a snapshot lacks.
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
