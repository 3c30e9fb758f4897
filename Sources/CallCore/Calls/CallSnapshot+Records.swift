import CallVocabulary

extension CallSnapshot {
    /// How a call stands for one of its parties, as far as its records tell.
    /// - Parameters:
    ///   - role: the caller, or a callee.
    ///   - leg: the callee's own part; nil for a member who was never rung.
    public init(_ call: CallRecord, role: CallRole, leg: LegRecord?) {
        // A device that lost the call sees it ended, whoever else talks on.
        let hasLeft = leg?.state == .ended
        self.init(
            call: call.id, role: role, state: hasLeft ? .ended : call.state, from: call.caller.user,
            fromName: call.callerName, to: call.to, video: call.video, createdAt: call.createdAt)
        reason = hasLeft ? leg?.endReason : call.endReason
        expiresAt = state == .ended ? nil : call.expiresAt
        answeredAt = call.answeredAt
        connectedAt = call.connectedAt
        endedAt = call.endedAt
        by = call.state == .ended ? call.endedBy : call.answeredBy
        mergedInto = call.mergedInto
        guard role == .callee else {
            isOwnAct = call.endedBy == call.caller
            return
        }
        guard let leg else { return }
        push = leg.push
        isOwnAct = leg.isEndedByDevice(call)
        if let leftAt = leg.endedAt, leftAt != call.endedAt || reason != call.endReason {
            // It left before the call was over: what came later is not its own.
            endedAt = leftAt
            connectedAt = nil
            by = reason == .answeredElsewhere ? call.answeredBy : nil
        }
    }

    /// How a call stands for a user, from one of the devices. A device without a part of its own sees what its user's
    /// others have.
    /// - Parameter legs: the user's.
    public init(_ call: CallRecord, for party: Party, legs: [LegRecord]) {
        let own = legs.first { $0.device.device == party.device }
        if call.caller == party || own == nil && call.caller.user == party.user {
            self.init(call, role: .caller, leg: nil)
        } else {
            let answered = legs.first { Party(user: $0.device.user, device: $0.device.device) == call.answeredBy }
            self.init(call, role: .callee, leg: own ?? answered ?? legs.first { $0.state != .ended } ?? legs.first)
        }
    }
}

extension CallRecord {
    /// When the present stage is over at the latest.
    var expiresAt: Instant? {
        switch state {
        case .routing, .waking, .ringing: ringsUntil
        case .answered: connectsUntil
        case .connected, .ended: nil
        }
    }
}

extension LegRecord {
    /// Whether the device has left the call, or ended it, by itself.
    func isEndedByDevice(_ call: CallRecord) -> Bool {
        switch endReason {
        // Only the device itself declines: its siblings are told `declinedElsewhere`.
        case .declined, .busy: true
        case .answeredElsewhere, .declinedElsewhere, nil: false
        case .hangup, .cancelled, .ringTimeout, .connectTimeout, .noDevices, .unknownCallee, .glare, .iceFailed,
            .mediaFailed, .connectionLost, .forbidden, .admin:
            call.endedBy == Party(user: device.user, device: device.device)
        }
    }
}
