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
            let id = entry.call.id
            // The server has still to hear of it, or its answer will tell the true reason.
            let isPending = outbox.contains { item in
                switch item.request {
                case .invite(let invite)?: invite.call == id
                case .answer(let call, _)?: call == id
                case .open, .state, .close, .logout, .updateDevice, .report, .ringing, .decline, .connected, .hangup,
                    .update, .get, .list, .clearMissed, nil:
                    false
                }
            }
            if !isPending {
                end(id, .connectionLost, effects: &effects)
            } else if let index = index(of: id) {
                calls[index].isUnlisted = entry.call.role == .callee
            }
        }
    }

    /// An answer came to nothing: the call it was to win, which the server did not list, is over.
    mutating func answerFailed(_ call: CallID, effects: inout [SessionEffect]) {
        guard let index = index(of: call), calls[index].isUnlisted else { return }
        end(call, .connectionLost, effects: &effects)
    }

    /// A call that this phone took for lost, and the app was told so, lives on at the server: there is nobody at this
    /// end any more.
    mutating func hangUpIfGivenUp(
        _ call: CallID, _ state: CallState, by: Party?, now: Duration, effects: inout [SessionEffect]
    ) {
        guard state.isLive, let past = ended.last(where: { $0.id == call }), past.isGuess else { return }
        let isOurs = past.role == .caller || !state.isRingingPhase && by?.device == configuration.device.id
        guard isOurs, !outbox.contains(where: { $0.request == .hangup(call, .hangup) }) else { return }
        enqueue(.hangup(call, .hangup), ticket: nil, now: now, effects: &effects)
    }

    mutating func apply(_ snapshot: CallSnapshot, effects: inout [SessionEffect]) {
        let known = index(of: snapshot.call)
        if known == nil, snapshot.state == .ended || endReason(of: snapshot.call) != nil { return }
        var call =
            known.map { calls[$0].call }
            ?? PhoneCall(id: snapshot.call, role: snapshot.role, state: snapshot.state, video: snapshot.video)
        let before = call
        call.advance(to: snapshot.state == .ended ? call.state : snapshot.state)
        call.from = snapshot.from
        call.to = snapshot.to
        call.sdp = snapshot.sdp ?? call.sdp
        call.push = snapshot.push ?? call.push
        call.expiresAt = snapshot.expiresAt ?? call.expiresAt
        call.answeredAt = snapshot.answeredAt
        call.connectedAt = snapshot.connectedAt
        call.endedAt = snapshot.endedAt
        call.by = snapshot.by ?? call.by
        call.mergedInto = snapshot.mergedInto
        // An unknown call that still rings is told when its `call.incoming` comes: each new session gets one, with
        // the candidates that a snapshot lacks.
        let isRinging = snapshot.role == .callee && snapshot.state.isRingingPhase
        if let known {
            calls[known].call = call
        } else {
            calls.append(CallEntry(call: call, isTold: !isRinging))
        }
        if snapshot.state == .ended {
            let isOwnAct = snapshot.by?.device == configuration.device.id
            let reason = snapshot.reason ?? .connectionLost
            return end(call.id, reason, by: snapshot.by, isOwnAct: isOwnAct, effects: &effects)
        }
        if snapshot.role == .callee, !isRinging, let by = snapshot.by?.device, by != configuration.device.id {
            return end(call.id, .answeredElsewhere, by: snapshot.by, effects: &effects)
        }
        if known == nil ? !isRinging : call != before { effects.append(.notify(.state(call))) }
    }
}
