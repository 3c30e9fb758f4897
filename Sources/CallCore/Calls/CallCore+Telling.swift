import CallVocabulary

/// Sends the state of a call to its parties.
extension CallCore {
    /// Tells the caller of the state the call has just reached.
    func tellCaller(of call: Call, by party: Party?, sdp: RawJSON? = nil) {
        guard let session = call.callerDevice.session(for: call) else { return }
        deliver(.state(change(of: call, for: .caller, by: party, sdp: sdp)), to: session)
    }

    /// Tells the device that answered.
    func tellWinner(of call: Call) {
        guard let session = call.answer?.leg.device.session(for: call) else { return }
        deliver(.state(change(of: call, for: .callee, by: nil, sdp: nil)), to: session)
    }

    func change(of call: Call, for role: CallRole, by party: Party?, sdp: RawJSON?) -> CallStateChange {
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
            expiresAt: call.expiresAt, isPolite: call.answer == nil ? nil : role == .callee)
    }

    /// The state of the call for one party: a device that lost it sees it ended, even when the call continues
    /// elsewhere.
    func standing(of call: Call, for party: PartyRole) -> (CallState, EndReason?) {
        if case .callee(let leg) = party, leg.state == .ended { return (.ended, leg.record.endReason) }
        return (call.state, call.ending?.reason)
    }

    /// The snapshot of the call for a user and one of the user's devices; nil for a stranger. A device without a leg
    /// sees its user's other legs, whose acts are not its own; a member who was never rung sees the call.
    /// - Parameter isNamed: whether the request names a device, known or not.
    func view(of call: Call, for user: Handle, device: Device?, isNamed: Bool = true) -> CallSnapshot? {
        if let device, let party = role(of: device, in: call) { return snapshot(of: call, for: party) }
        var view: CallSnapshot
        if call.caller.user == user {
            view = snapshot(of: call, for: .caller)
        } else {
            let legs = call.legs.filter { $0.device.key.user == user }
            if let leg = legs.first(where: { $0 === call.answer?.leg }) ?? legs.first(where: \.isOpen) ?? legs.first {
                view = snapshot(of: call, for: .callee(leg))
            } else if call.callees.position(of: user) != nil {
                view = snapshot(of: call, for: nil)
            } else {
                return nil
            }
        }
        if isNamed { view.isOwnAct = false }
        return view
    }

    /// - Parameter party: nil for a callee without a leg.
    func snapshot(of call: Call, for party: PartyRole?) -> CallSnapshot {
        let leg: Leg? = if case .callee(let leg) = party { leg } else { nil }
        let role: CallRole = if case .caller = party { .caller } else { .callee }
        var view = CallSnapshot(call.record, role: role, leg: leg?.record, legs: call.legs.lazy.map(\.record))
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

    /// The calls sent to a device that opens a session: those it is a party of, those that ring at it, and the ended calls it
    /// was woken for and may not know ended. In this order, and of each the newest first; the call of a wake token is always
    /// included. Those at the end are left out where a frame does not hold all: strangers decide how much rings.
    func snapshots(for device: Device, _ session: Session) -> [CallSnapshot] {
        var views: [CallSnapshot] = []
        // The reply drops the last calls that do not fit, so none is made beyond the first of those.
        var room = FrameLimits.content
        func add(_ view: CallSnapshot) {
            views.append(view)
            room -= view.leastWireBytes
        }
        for isParty in [true, false] {
            for call in device.user.liveCalls.reversed() where call.isParty(device) == isParty && room >= 0 {
                guard session.mayAct(on: call.id), let party = role(of: device, in: call),
                    standing(of: call, for: party).0.isLive
                else { continue }
                add(snapshot(of: call, for: party))
            }
        }
        switch session.scope {
        case .call(let id):
            if let call = calls[id], let leg = call.leg(of: device), leg.state == .ended {
                views.append(snapshot(of: call, for: .callee(leg)))
            }
        case .full:
            for leg in device.endsToTell.reversed() where leg.push?.record.report != nil && room >= 0 {
                add(snapshot(of: leg.call, for: .callee(leg)))
            }
        }
        return views
    }
}
