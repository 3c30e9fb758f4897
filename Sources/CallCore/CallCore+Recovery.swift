import CallVocabulary
import Determinism

/// Restores the state of the previous process: no call ends because the server stopped.
extension CallCore {
    /// Rebuilds live calls and open pushes, with their users. Call it once, before any input, and
    /// ``handleTimeouts(now:effects:)`` after it: deadlines that passed while the server was down then fire with their
    /// own reasons.
    public func recover(_ state: RecoveredState, now: Instant, effects: inout EffectBuffer) {
        precondition(calls.isEmpty && directory.sessionCount == 0, "recovery comes before everything else")
        self.now = now
        beganAt = now
        swap(&self.effects, &effects)
        defer { swap(&self.effects, &effects) }
        takeIn(state.users)
        var descriptions: [CallID: DescriptionsRecord] = [:]
        for record in state.descriptions { descriptions[record.call] = record }
        for record in state.calls {
            knownCalls.insert(record.id)
            _ = restore(record, descriptions: descriptions[record.id], isFromArchive: false)
        }
        var legs: [PushID: Leg] = [:]
        for record in state.legs {
            if let call = calls[record.call] { legs[record.push] = restore(record, of: call) }
        }
        for absence in state.absences {
            guard let call = calls[absence.call] else { continue }
            call.absences.recorded += 1
            guard absence.returnedAt == nil else { continue }
            call.absences[absence.role] = Absence(lostAt: absence.lostAt, until: now, isRecorded: true)
        }
        for record in state.calls {
            if let call = calls[record.id] { takeUp(call, record) }
        }
        for batch in state.candidates {
            if let call = calls[batch.call] { restore(batch, of: call) }
        }
        for record in state.pushes {
            guard let leg = legs[record.id] else { continue }
            counters.pushesRecovered += 1
            // Logouts are not stored. A pushed device had a token, so a device without tokens has logged out.
            if leg.device.tokens.isEmpty { leg.device.hasLoggedOut = true }
            takeUp(restore(record, of: leg))
        }
        restoreNotices(of: state)
        for record in state.calls {
            if let call = calls[record.id], call.isUnanswered, now < call.ringsUntil { wakeAgain(call) }
        }
    }

    /// Awaits devices that were told over a socket: the socket is gone, and the event may have been lost. Those that do
    /// not come back within their delivery time are pushed.
    private func wakeAgain(_ call: Call) {
        for leg in call.legs where leg.isOpen {
            if leg.isAwake {
                awaitAttendance(of: leg)
            } else if leg.push == nil, hasUnusedPush(leg) {
                awaitDelivery(of: leg)
            }
            awaitReturn(of: leg.device)
        }
    }

    /// The device of a party. A device that was dropped is created again, as a dropped one, so that its call is kept.
    func device(_ party: Party) -> Device {
        guard let id = party.device else { return backendDevice(of: party.user) }
        let user = directory.known(party.user)
        if let device = user.device(id) ?? user.dropped[id] { return device }
        let device = Device(key: DeviceKey(user: party.user, device: id), user: user, platform: .cli, seenAt: now)
        device.isDropped = true
        return device
    }

    /// The device of a party of a call that comes into memory.
    private func callDevice(_ party: Party) -> Device {
        let device = device(party)
        if device.isDropped { device.user.dropped[device.key.device] = device }
        return device
    }

    // MARK: Records to objects, also of calls restored from the archive

    func restore(_ record: CallRecord, descriptions: DescriptionsRecord?, isFromArchive: Bool) -> Call {
        let caller = callDevice(record.caller)
        let call = Call(record, callerDevice: caller, descriptions: descriptions, isFromArchive: isFromArchive)
        caller.placedCalls += 1
        directory.hold(caller.user)
        calls[record.id] = call
        return call
    }

    func restore(_ record: LegRecord, of call: Call) -> Leg {
        let device = callDevice(Party(user: record.device.user, device: record.device.device))
        let leg = Leg(record, call: call, device: device)
        call.add(leg)
        device.add(leg)
        directory.hold(device.user)
        legCount += 1
        return leg
    }

    @discardableResult
    func restore(_ record: PushRecord, of leg: Leg) -> Push {
        let push = Push(record, leg: leg)
        leg.push = push
        pushes[push.id] = push
        if leg.state == .ended { leg.device.legEnded(leg) }
        noteRestored(push)
        ledger.add(status: push.record.status, report: push.record.report)
        return push
    }

    private func restore(_ batch: CandidateRecord, of call: Call) {
        guard call.isLive else { return }
        call.hasStoredCandidates = true
        let candidates = CallCandidates(call: call.id, candidates: batch.candidates, isFinal: batch.isFinal)
        // The batch fitted when it was accepted. Limits that were lowered since may drop it.
        if let winner = call.answer?.leg {
            if batch.device == nil {
                _ = winner.device.hold(candidates, limits)
            } else if batch.device == winner.device.key {
                _ = call.callerDevice.hold(candidates, limits)
            }
        } else if let device = batch.device {
            guard let leg = call.legs.first(where: { $0.device.key == device }), leg.isOpen else { return }
            _ = leg.candidates.append(candidates, limits: limits)
        } else {
            _ = call.callerCandidates.append(candidates, limits: limits)
        }
    }

    // MARK: Resuming

    private func takeUp(_ call: Call, _ record: CallRecord) {
        call.restorePhase(from: record)
        switch call.phase {
        case .routing, .waking, .ringing:
            schedule(.ring(call), at: call.ringsUntil, in: &call.deadline)
            if let next = call.hunt?.nextAt { schedule(.hunt(call), at: next, in: &call.huntDeadline) }
        case .answered(let answer): schedule(.connect(call), at: answer.connectsUntil, in: &call.deadline)
        case .connected(_, let at): limitDuration(of: call, connectedAt: at)
        case .ended:
            retire(call)
            return
        }
        liveCallCount += 1
        enterLiveCalls(call)
        // No device has a session yet: the parties have the resume window to return. A backend has no session.
        if !call.isFromBackend { awaitParty(call.callerDevice, of: call) }
        if let winner = call.answer?.leg.device { awaitParty(winner, of: call) }
    }
}
