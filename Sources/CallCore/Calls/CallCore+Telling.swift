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

    /// What a user may see of the call, from one of the devices; nil for a stranger. A device without a part of its own
    /// sees what its user's others have, and a member who was never rung sees the call.
    func view(of call: Call, for user: Handle, device: Device?) -> CallSnapshot? {
        if let device, let party = role(of: device, in: call) { return snapshot(of: call, for: party) }
        if call.caller.user == user { return snapshot(of: call, for: .caller) }
        let legs = call.legs.filter { $0.device.key.user == user }
        if let leg = legs.first(where: { $0 === call.answer?.leg }) ?? legs.first(where: \.isOpen) ?? legs.first {
            return snapshot(of: call, for: .callee(leg))
        }
        return call.callees.position(of: user) == nil ? nil : snapshot(of: call, for: nil)
    }

    /// - Parameter party: nil for a callee without a part in the call.
    func snapshot(of call: Call, for party: PartyRole?) -> CallSnapshot {
        let leg: Leg? = if case .callee(let leg) = party { leg } else { nil }
        let role: CallRole = if case .caller = party { .caller } else { .callee }
        var view = CallSnapshot(call.record, role: role, leg: leg?.record)
        if call.isLive, call.answer != nil, let role = party?.role {
            view.peerAwaySince = call.absences[role.other]?.lostAt
        }
        if case .caller = party, call.state == .answered { view.sdp = call.descriptions.answer }
        if let leg, call.isUnanswered ? leg.isOpen : call.answer?.leg === leg {
            view.sdp = call.descriptions.offer
            view.custom = call.descriptions.custom
        }
        return view
    }

    /// What a device that opens a session is told: its live calls, and the ended ones it was woken for and may not know
    /// the end of, the newest first: more than a frame holds are left out. A session with a wake token is told of its call
    /// in any case.
    func snapshots(for device: Device, _ session: Session) -> [CallSnapshot] {
        var views: [CallSnapshot] = []
        for call in device.user.liveCalls where session.mayAct(on: call.id) {
            guard let party = role(of: device, in: call), standing(of: call, for: party).0.isLive else { continue }
            views.append(snapshot(of: call, for: party))
        }
        switch session.scope {
        case .call(let id):
            if let call = calls[id], let leg = call.leg(of: device), leg.state == .ended {
                views.append(snapshot(of: call, for: .callee(leg)))
            }
        case .full:
            for leg in device.endsToTell.reversed() where leg.push?.record.report != nil {
                views.append(snapshot(of: leg.call, for: .callee(leg)))
            }
        }
        return views
    }
}
