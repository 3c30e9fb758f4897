import CallVocabulary

extension CallSnapshot {
    /// The snapshot of a call for one party, from its records. ``isOwnAct`` is of the party's device.
    /// - Parameters:
    ///   - role: the caller, or a callee.
    ///   - leg: the callee's leg; nil for a member who was never rung.
    ///   - legs: those of the callee, and perhaps others.
    public init(_ call: CallRecord, role: CallRole, leg: LegRecord?, legs: some Sequence<LegRecord>) {
        // A device that lost the call sees it ended, even when the call continues elsewhere.
        let hasLeft = leg?.state == .ended
        self.init(
            call: call.id, role: role, state: hasLeft ? .ended : call.state, from: call.caller.user,
            fromName: call.callerName, to: call.to, video: call.video, createdAt: call.createdAt)
        toCount = call.toCount
        reason = hasLeft ? leg?.endReason : call.endReason
        expiresAt = state == .ended ? nil : call.expiresAt
        answeredAt = call.answeredAt
        connectedAt = call.connectedAt
        endedAt = call.endedAt
        lostAt = call.lostAt == nil ? nil : call.talkEndedAt
        by = call.state == .ended ? call.endedBy : call.answeredBy
        mergedInto = call.mergedInto
        guard role == .callee else {
            isOwnAct = call.isEnded(by: call.caller)
            return
        }
        guard let leg else {
            if let answeredAt = call.answeredAt {
                // A member whom the call did not ring: somebody else has answered it.
                (state, reason, by) = (.ended, .answeredElsewhere, call.answeredBy)
                (endedAt, connectedAt, lostAt, expiresAt) = (answeredAt, nil, nil, nil)
            }
            return
        }
        push = leg.push
        isOwnAct = leg.isEndedByDevice(call)
        guard let leftAt = leg.endedAt else { return }
        if leftAt != call.endedAt || reason != call.endReason {
            // The device left before the call ended: later changes do not concern it.
            endedAt = leftAt
            answeredAt = reason == .answeredElsewhere ? call.answeredAt : nil
            (connectedAt, lostAt, mergedInto) = (nil, nil, nil)
            by = reason == .answeredElsewhere ? call.answeredBy : nil
        }
        // A decline is an act of the callee, whoever ended the call.
        if reason == .declined || reason == .busy { by = leg.party }
        if reason == .declinedElsewhere { by = legs.first { $0.isDecline(for: leg) }?.party }
    }

    /// The snapshot of a call for a user and one of the user's devices. A device without a leg sees its user's other
    /// legs, whose acts are not its own.
    /// - Parameter legs: the user's legs.
    public init(_ call: CallRecord, for party: Party, legs: [LegRecord]) {
        let own = legs.first { $0.device.device == party.device }
        if call.caller == party || own == nil && call.caller.user == party.user {
            self.init(call, role: .caller, leg: nil, legs: legs)
        } else {
            let answered = legs.first { $0.party == call.answeredBy }
            let leg = own ?? answered ?? legs.first { $0.state != .ended } ?? legs.first
            self.init(call, role: .callee, leg: leg, legs: legs)
        }
        if own == nil, call.caller != party { isOwnAct = false }
    }
}

extension CallRecord {
    /// Whether the party's device has ended the call by an act.
    func isEnded(by party: Party) -> Bool { endedBy == party && endReason?.isAct == true }

    /// When the present stage times out.
    var expiresAt: Instant? {
        switch state {
        case .routing, .waking, .ringing: ringsUntil
        case .answered: connectsUntil
        case .connected, .ended: nil
        }
    }
}

extension LegRecord {
    fileprivate var party: Party { Party(user: device.user, device: device.device) }

    /// Whether this device declined the call for the other one, which ended as `declinedElsewhere`.
    fileprivate func isDecline(for other: LegRecord) -> Bool {
        endReason == .declined && endedAt == other.endedAt && device.user == other.device.user
    }

    /// Whether the device itself declined the call or ended it.
    func isEndedByDevice(_ call: CallRecord) -> Bool {
        switch endReason {
        // Only the device itself has `declined`: its siblings get `declinedElsewhere`.
        case .declined, .busy: true
        case .hangup, .cancelled, .iceFailed, .mediaFailed:
            call.isEnded(by: party)
        case .ringTimeout, .connectTimeout, .answeredElsewhere, .declinedElsewhere, .noDevices, .unknownCallee, .glare,
            .connectionLost, .forbidden, .admin, .maxDuration, nil:
            false
        }
    }
}
