import CallVocabulary

/// Telling the parties how their call stands.
extension CallCore {
    /// Tells the caller of the state the call has just reached.
    func tellCaller(of call: Call, by party: Party?, sdp: RawJSON? = nil) {
        guard let session = call.callerDevice.session(for: call) else { return }
        deliver(.state(change(of: call, by: party, sdp: sdp)), to: session)
    }

    /// Tells the device that answered.
    func tellWinner(of call: Call) {
        guard let session = call.answer?.leg.device.session(for: call) else { return }
        deliver(.state(change(of: call, by: nil, sdp: nil)), to: session)
    }

    private func change(of call: Call, by party: Party?, sdp: RawJSON?) -> CallStateChange {
        var waking = 0
        var ringing = 0
        if call.isUnanswered {
            for leg in call.legs {
                if leg.state == .waking { waking += 1 }
                if leg.state == .ringing { ringing += 1 }
            }
        }
        return CallStateChange(
            call: call.id, state: call.state, at: now, by: party, sdp: sdp, waking: waking, ringing: ringing,
            expiresAt: call.expiresAt)
    }

    /// How the call stands for one of its parties: a device that lost it sees it ended, whoever else talks on.
    func standing(of call: Call, for party: PartyRole) -> (CallState, EndReason?) {
        if case .callee(let leg) = party, leg.state == .ended { return (.ended, leg.record.endReason) }
        return (call.state, call.ending?.reason)
    }

    func snapshot(of call: Call, for party: PartyRole) -> CallSnapshot {
        let (state, reason) = standing(of: call, for: party)
        let role: CallRole
        switch party {
        case .caller: role = .caller
        case .callee: role = .callee
        }
        var view = CallSnapshot(
            call: call.id, role: role, state: state, from: call.caller.user, to: call.to, video: call.video,
            createdAt: call.createdAt)
        view.reason = reason
        view.expiresAt = state == .ended ? nil : call.expiresAt
        view.answeredAt = call.answer?.at
        if case .connected(_, let at) = call.phase { view.connectedAt = at }
        if let ending = call.ending {
            view.connectedAt = ending.connectedAt
            view.endedAt = ending.at
            view.by = ending.by
        } else {
            view.by = call.answer?.leg.device.party
        }
        if case .caller = party, case .answered(let answer) = call.phase { view.sdp = answer.sdp }
        if case .callee(let leg) = party {
            view.push = leg.record.push
            view.endedAt = leg.record.endedAt ?? view.endedAt
            if call.isUnanswered, leg.isOpen { view.sdp = call.offer.sdp }
        }
        return view
    }

    /// What a device that opens a session is told: its live calls, and, for as long as they are remembered, the ended ones
    /// it was woken for. An SDP that would not fit into the frame is left out; `call.incoming` and `call.get` have it.
    func snapshots(for device: Device, _ session: Session) -> [CallSnapshot] {
        var views: [CallSnapshot] = []
        for call in device.user.liveCalls where session.mayAct(on: call.id) {
            guard let party = role(of: device, in: call), standing(of: call, for: party).0.isLive else { continue }
            views.append(snapshot(of: call, for: party))
        }
        for leg in device.legs where session.mayAct(on: leg.call.id) && leg.state == .ended {
            if leg.push?.record.report != nil || session.scope == .call(leg.call.id) {
                views.append(snapshot(of: leg.call, for: .callee(leg)))
            }
        }
        var bytes = views.reduce(0) { $0 + $1.to.bytes }
        for index in views.indices {
            guard let sdp = views[index].sdp else { continue }
            if bytes + sdp.bytes.count > limits.eventPayloadBytes / 2 {
                views[index].sdp = nil
            } else {
                bytes += sdp.bytes.count
            }
        }
        return views
    }
}
