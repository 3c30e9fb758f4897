import CallVocabulary
import Determinism

/// How calls and single legs end.
extension CallCore {
    /// Ends the call and all legs that have not ended.
    ///
    /// - Parameters:
    ///   - mergedInto: the call that continues in its place, after a glare.
    ///   - lostAt: when the party lost its connection, if it has another one since.
    func endCall(
        _ call: Call, _ reason: EndReason, by party: Party?, mergedInto: CallID? = nil, lostAt: Instant? = nil
    ) {
        let wasUnanswered = call.isUnanswered
        cancel(call.deadline)
        call.deadline = nil
        cancel(call.huntDeadline)
        call.huntDeadline = nil
        cancel(call.candidatesDeadline)
        call.candidatesDeadline = nil
        let loss = reason == .connectionLost ? lostAt ?? recordLoss(of: call, by: party) : nil
        call.end(reason, by: party, at: now, mergedInto: mergedInto, lostAt: loss)
        liveCallCount -= 1
        // `reason` is a member of `allCases`.
        counters.callsEnded[EndReason.allCases.firstIndex(of: reason)!] += 1
        if EndReason.ofFaults.contains(reason) {
            callersOfFaults[reason, default: BusiestUser()].add(call.caller.user, at: now)
            counters.callsOfOneCaller[reason] = callersOfFaults[reason]?.total
        }
        call.keepCallees { directory.user($0)?.isRegistered == true }
        // Persist the end first, then tell the parties.
        persist(call, .ended)
        for leg in call.legs where leg.state != .ended {
            closeLeg(leg, reason, by: party, isOwnAct: reason.isAct && party == leg.device.party)
        }
        if wasUnanswered { keepMissed(call, reason) }
        dropDescriptions(of: call)
        dropCandidates(of: call)
        for device in [call.callerDevice, call.answer?.leg.device] {
            device?.heldMedia.removeAll { $0.relayedCall == call.id }
        }
        leaveLiveCalls(call)
        if let session = call.callerDevice.session(for: call) {
            let isOwnAct = reason.isAct && party == call.caller
            deliver(.ended(ended(call, reason, by: party, isOwnAct: isOwnAct)), to: session)
        }
        retire(call)
    }

    /// Records the absence that ends the call.
    /// - Returns: when the party lost its connection; a party that was not away closes its session now.
    private func recordLoss(of call: Call, by party: Party?) -> Instant {
        let role: CallRole = party == call.caller ? .caller : .callee
        recordAbsence(role, of: call)
        return call.absences[role]?.lostAt ?? now
    }

    /// Drops the descriptions when media flows: no session needs them any more.
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

    /// Ends one leg, tells its device, and withdraws a push that has not been sent.
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

    /// Continues an unanswered call after a leg has ended: a hunt that waited for it rings the next member, and after
    /// the last leg the call ends. A decline takes precedence over an unreachable device as the reason.
    func goOnWithoutLeg(_ call: Call, _ reason: EndReason, by party: Party?) {
        guard call.isUnanswered else { return }
        if isHuntIdle(call) { huntOn(call) }
        guard call.isUnanswered, !call.legs.contains(where: \.isOpen) else { return }
        let refusal = call.legs.last { leg in
            (leg.record.endReason == .declined || leg.record.endReason == .busy) && call.rings(leg.device.user)
        }
        if reason == .noDevices, let refusal, let said = refusal.record.endReason {
            return endUnanswered(call, said, by: refusal.device.party)
        }
        endUnanswered(call, reason, by: party)
    }

    private func ended(_ call: Call, _ reason: EndReason, by party: Party?, isOwnAct: Bool) -> CallEnded {
        CallEnded(
            call: call.id, reason: reason, by: party, at: now, isOwnAct: isOwnAct, mergedInto: call.ending?.mergedInto)
    }

    /// Records a call that ended unanswered, without an act of the user, as missed by the user, even when no device was
    /// reachable. A call that continues as another, after a glare, is not missed, and neither is one by a name that nobody
    /// has.
    private func keepMissed(_ call: Call, _ reason: EndReason) {
        guard reason != .glare else { return }
        let users = call.members.filter { user in
            user !== call.callerDevice.user && user.isRegistered && call.hasRung(user) && !call.isDeclined(by: user)
                && !isBlocked(call, by: user)
        }
        recordMissed(by: users, of: call)
        for user in users {
            addMissed(
                MissedCall(
                    call: call.id, from: call.caller.user, fromName: call.callerName, at: now, reason: reason,
                    video: call.video), to: user)
            giveNotice(of: call, to: user)
        }
    }

    /// Adds a missed call to the user's list. In a full list it takes the place of the oldest; the calls of one caller take
    /// at most half of the list from others.
    private func addMissed(_ missed: MissedCall, to user: User) {
        if user.missed.count >= limits.missedPerUser {
            counters.hit(.missedPerUser)
            let own = user.missed.count { $0.from == missed.from }
            if user.missed.first?.from != missed.from, 2 * own >= limits.missedPerUser { return }
        }
        user.missed.append(missed)
        if user.missed.count > limits.missedPerUser {
            user.missed.removeFirst(user.missed.count - limits.missedPerUser)
        }
        persist(.missed(user: user.handle, missed), about: user)
    }

    /// Nothing waits for the callees any more: those that nothing else needs may leave memory.
    private func leaveLiveCalls(_ call: Call) {
        let caller = call.callerDevice.user
        caller.liveCalls.remove(call)
        caller.ownCalls.remove(call)
        for user in call.members {
            user.liveCalls.remove(call)
            directory.release(user)
        }
        call.members = []
        awaitedHandles -= call.awaitedHandles
        awaitedShares.remove(call.awaitedHandles, from: caller.handle)
        call.awaitedHandles = 0
    }

    /// Keeps an ended call in memory for late commands, for ``CallTimers/tombstone``.
    func retire(_ call: Call) {
        let until = now + timers.tombstone
        if tombstones.add(call.id, until: until) {
            call.leavesAt = until
            call.callerDevice.user.endedCalls.append(call.id)
        } else {
            // After that time was lowered, an earlier call may stay longer.
            schedule(.forget(call), at: until, in: &call.deadline)
        }
        countMemory(of: call)
        mayExceedEndedCalls = true
    }

    /// Takes the call out of the ``tombstones``.
    /// - Returns: the call, and the time at which it was to leave; nil for a call that has left them before.
    func takeTombstone(of id: CallID) -> (call: Call, until: Instant)? {
        guard let call = calls[id], let until = call.leavesAt else { return nil }
        call.leavesAt = nil
        tombstones.noteTaken()
        let caller = call.callerDevice.user
        while let first = caller.endedCalls.first, calls[first]?.leavesAt == nil { caller.endedCalls.removeFirst() }
        return (call, until)
    }

    /// Removes the oldest ended calls from memory before their time while there are more than
    /// ``CoreLimits/endedCalls``. A call stays while a woken device may not know its end.
    func leaveToStore() {
        mayExceedEndedCalls = false
        while tombstones.count > limits.endedCalls, let oldest = tombstones.popFirst() {
            if let call = takeTombstone(of: oldest) { leaveEarly(call.call, until: call.until) }
        }
    }

    /// Removes an ended call from memory before its time, unless a woken device may not know its end.
    func leaveEarly(_ call: Call, until: Instant) {
        if call.legs.contains(where: { $0.device.isOwedEnd(of: $0) }) {
            schedule(.forget(call), at: until, in: &call.deadline)
        } else {
            if forget(call) { counters.callsLeftToStore += 1 }
        }
    }

    /// Removes an ended call from memory, once the store's tables contain it, unless one of its pushes is still open.
    /// - Returns: false when a push is open.
    @discardableResult func forget(_ call: Call) -> Bool {
        guard !call.legs.contains(where: { $0.push?.isOpen == true }) else {
            schedule(.forget(call), at: now + timers.report, in: &call.deadline)
            return false
        }
        releaseMemory(of: call)
        guard call.generation <= settledGeneration else {
            leavingCalls.append(call)
            settle()
            return true
        }
        latestDeparture = max(latestDeparture, call.generation)
        calls[call.id] = nil
        call.callerDevice.placedCalls -= 1
        directory.release(call.callerDevice.user)
        if call.isFromArchive {
            archivedLegs -= max(1, call.legs.count)
            archivedShares.remove(max(1, call.legs.count), from: call.archivedBy)
        }
        legCount -= call.legs.count
        for leg in call.legs {
            leg.device.remove(leg)
            directory.release(leg.device.user)
            if let push = leg.push {
                pushes[push.id] = nil
                ledger.remove(status: push.record.status, report: push.record.report)
            }
            // The push holds its leg: break the reference cycle.
            leg.push = nil
            leg.device.user.forgetDropped(leg.device)
        }
        call.callerDevice.user.forgetDropped(call.callerDevice)
        call.removeLegs()
        return true
    }
}
