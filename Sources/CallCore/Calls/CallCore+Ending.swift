import CallVocabulary
import Determinism

/// How calls, and single devices' parts in them, come to their end.
extension CallCore {
    /// Ends the call for everybody who has not left it yet.
    ///
    /// - Parameter mergedInto: the call that goes on in its place, after a glare.
    func endCall(_ call: Call, _ reason: EndReason, by party: Party?, mergedInto: CallID? = nil) {
        let wasUnanswered = call.isUnanswered
        cancel(&call.deadline)
        cancel(&call.huntDeadline)
        call.end(reason, by: party, at: now, mergedInto: mergedInto, lostAt: lossThatEnds(call, reason, party))
        liveCallCount -= 1
        // `reason` is among its own `allCases`.
        counters.callsEnded[EndReason.allCases.firstIndex(of: reason)!] += 1
        // First that it is over, then whoever is told of it.
        persist(call)
        for leg in call.legs where leg.state != .ended {
            closeLeg(leg, reason, by: party, isOwnAct: party == leg.device.party)
        }
        if wasUnanswered { keepMissed(call, reason) }
        dropDescriptions(of: call)
        dropCandidates(of: call)
        for device in [call.callerDevice, call.answer?.leg.device] {
            device?.heldMedia.removeAll { $0.relayedCall == call.id }
        }
        leaveLiveCalls(call)
        if let session = call.callerDevice.session(for: call) {
            deliver(.ended(ended(call, reason, by: party, isOwnAct: party == call.caller)), to: session)
        }
        retire(call)
    }

    /// When the party was lost whose absence ends the call.
    private func lossThatEnds(_ call: Call, _ reason: EndReason, _ party: Party?) -> Instant? {
        guard reason == .connectionLost else { return nil }
        let role: CallRole = party == call.caller ? .caller : .callee
        recordAbsence(role, of: call)
        return call.absences[role]?.lostAt
    }

    /// Media flows: no session needs the descriptions any more.
    func dropSDP(of call: Call) {
        guard call.descriptions.offer != nil || call.descriptions.answer != nil else { return }
        call.descriptions.offer = nil
        call.descriptions.answer = nil
        let isEmpty = call.descriptions.isEmpty
        persist(isEmpty ? .descriptionsDropped(call.id) : .descriptions(call.descriptions))
    }

    func dropDescriptions(of call: Call) {
        guard !call.descriptions.isEmpty else { return }
        call.descriptions = DescriptionsRecord(call: call.id)
        persist(.descriptionsDropped(call.id))
    }

    /// Ends one device's part, tells it, and sees to it that it is not woken for nothing.
    func closeLeg(_ leg: Leg, _ reason: EndReason, by party: Party?, isOwnAct: Bool) {
        endDelivery(of: leg)
        leg.end(reason, at: now)
        leg.candidates = CandidateBuffer()
        persist(leg)
        withdrawPush(leg, reason: reason.rawValue)
        leg.device.legEnded(leg)
        leg.told = leg.device.session(for: leg.call).map { session in
            (session.id, deliver(.ended(ended(leg.call, reason, by: party, isOwnAct: isOwnAct)), to: session))
        }
    }

    /// A device has left an unanswered call: the hunt goes on where it was waited for, and with the last of them the
    /// call is over. A person's no outweighs a device that could not be reached.
    func goOnWithoutLeg(_ call: Call, _ reason: EndReason, by party: Party?) {
        guard call.isUnanswered else { return }
        if isHuntIdle(call) { huntOn(call) }
        guard call.isUnanswered, !call.legs.contains(where: \.isOpen) else { return }
        let refusal = call.legs.last { $0.record.endReason == .declined || $0.record.endReason == .busy }
        if reason == .noDevices, let refusal, let said = refusal.record.endReason {
            return endCall(call, said, by: refusal.device.party)
        }
        endCall(call, reason, by: party)
    }

    private func ended(_ call: Call, _ reason: EndReason, by party: Party?, isOwnAct: Bool) -> CallEnded {
        CallEnded(
            call: call.id, reason: reason, by: party, at: now, isOwnAct: isOwnAct, mergedInto: call.ending?.mergedInto)
    }

    /// A call that ended unanswered, without an act of the user, is one the user missed; also when no device of the user
    /// could be reached. One that goes on as another, after a glare, is not.
    private func keepMissed(_ call: Call, _ reason: EndReason) {
        guard reason != .glare else { return }
        for user in call.members where user !== call.callerDevice.user && call.rings(user) {
            if call.isDeclined(by: user) { continue }
            let missed = MissedCall(
                call: call.id, from: call.caller.user, fromName: call.callerName, at: now, reason: reason,
                video: call.video)
            user.missed.append(missed)
            if user.missed.count > limits.missedPerUser {
                user.missed.removeFirst(user.missed.count - limits.missedPerUser)
                counters.hit(.missedPerUser)
            }
            persist(.missed(user: user.handle, missed))
            giveNotice(of: call, to: user)
        }
    }

    private func leaveLiveCalls(_ call: Call) {
        call.callerDevice.user.liveCalls.removeAll { $0 === call }
        for user in call.members { user.liveCalls.removeAll { $0 === call } }
        guard call.members.count < call.callees.handles.count else { return }
        for handle in call.callees.handles { directory.stopAwaiting(handle, for: call) }
    }

    /// Keeps an ended call in memory for late commands, for some time.
    func retire(_ call: Call) {
        let until = now + timers.tombstone
        // After a change of that time there may be one that stays longer.
        if !tombstones.add(call, until: until) { call.deadline = deadlines.add(.forget(call), at: until) }
    }

    /// Lets the oldest ended calls leave memory before their time when there are too many. One whose end a woken device
    /// is still to be told of stays.
    func leaveToStore() {
        while tombstones.count > limits.endedCalls, let (call, until) = tombstones.popFirst() {
            if call.legs.contains(where: { $0.device.isOwedEnd(of: $0) }) {
                call.deadline = deadlines.add(.forget(call), at: until)
            } else {
                if forget(call) { counters.callsLeftToStore += 1 }
            }
        }
    }

    /// Lets an ended call leave memory, unless one of its pushes is still open.
    /// - Returns: whether it has left.
    @discardableResult func forget(_ call: Call) -> Bool {
        guard !call.legs.contains(where: { $0.push?.isOpen == true }) else {
            call.deadline = deadlines.add(.forget(call), at: now + timers.report)
            return false
        }
        calls[call.id] = nil
        call.callerDevice.placedCalls -= 1
        if call.isFromArchive { archivedLegs -= max(1, call.legs.count) }
        legCount -= call.legs.count
        for leg in call.legs {
            leg.device.remove(leg)
            if let push = leg.push {
                pushes[push.id] = nil
                ledger.remove(status: push.record.status, report: push.record.report)
            }
            // The push holds its leg.
            leg.push = nil
        }
        call.removeLegs()
        return true
    }
}
