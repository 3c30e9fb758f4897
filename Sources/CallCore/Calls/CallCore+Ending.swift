import CallVocabulary
import Determinism

/// How calls, and single devices' parts in them, come to their end.
extension CallCore {
    /// Ends the call for everybody who has not left it yet.
    func endCall(_ call: Call, _ reason: EndReason, by party: Party?) {
        let wasUnanswered = call.isUnanswered
        cancel(&call.deadline)
        call.end(reason, by: party, at: now)
        liveCallCount -= 1
        // `reason` is among its own `allCases`.
        counters.callsEnded[EndReason.allCases.firstIndex(of: reason)!] += 1
        // First that it is over, then whoever is told of it.
        persist(.call(call.record))
        for leg in call.legs where leg.state != .ended {
            closeLeg(leg, reason, by: party, isOwnAct: party == leg.device.party)
        }
        if wasUnanswered { keepMissed(call, reason) }
        dropOffer(of: call)
        call.callerCandidates = CandidateBuffer()
        leaveLiveCalls(call)
        if let session = call.callerDevice.session(for: call) {
            deliver(.ended(ended(call, reason, by: party, isOwnAct: party == call.caller)), to: session)
        }
        call.deadline = deadlines.add(.forget(call), at: now + timers.tombstone)
    }

    /// Nobody has to be told of a session description any more.
    func dropOffer(of call: Call) {
        guard call.offer.sdp != nil || call.offer.custom != nil else { return }
        call.offer = OfferRecord(call: call.id, sdp: nil, custom: nil)
        persist(.offerDropped(call.id))
    }

    /// Ends one device's part, tells it, and sees to it that it is not woken for nothing.
    func closeLeg(_ leg: Leg, _ reason: EndReason, by party: Party?, isOwnAct: Bool) {
        cancel(&leg.deliveryDeadline)
        leg.end(reason, at: now)
        leg.candidates = CandidateBuffer()
        persist(.leg(leg.record))
        withdrawPush(leg, reason: reason.rawValue)
        if let session = leg.device.session(for: leg.call) {
            deliver(.ended(ended(leg.call, reason, by: party, isOwnAct: isOwnAct)), to: session)
        }
    }

    func endIfNobodyIsLeft(_ call: Call, _ reason: EndReason, by party: Party?) {
        guard call.isUnanswered, !call.legs.contains(where: \.isOpen) else { return }
        endCall(call, reason, by: party)
    }

    private func ended(_ call: Call, _ reason: EndReason, by party: Party?, isOwnAct: Bool) -> CallEnded {
        CallEnded(call: call.id, reason: reason, by: party, at: now, isOwnAct: isOwnAct)
    }

    /// A call that ended unanswered, without an act of the user, is one the user missed; also when no device of the user
    /// could be reached.
    private func keepMissed(_ call: Call, _ reason: EndReason) {
        for user in callees(of: call) where user !== call.callerDevice.user {
            if call.isDeclined(by: user) { continue }
            let missed = MissedCall(call: call.id, from: call.caller.user, at: now, reason: reason, video: call.video)
            user.missed.append(missed)
            if user.missed.count > limits.missedPerUser {
                user.missed.removeFirst(user.missed.count - limits.missedPerUser)
                counters.limitsHit += 1
            }
            persist(.missed(user: user.handle, missed))
        }
    }

    private func leaveLiveCalls(_ call: Call) {
        for user in callees(of: call) { user.liveCalls.removeAll { $0 === call } }
        call.callerDevice.user.liveCalls.removeAll { $0 === call }
    }

    /// Everybody the call was for, with a device in it or not.
    func callees(of call: Call) -> [User] {
        switch call.to {
        case .user(let handle): [directory.user(handle)].compactMap { $0 }
        case .users(let handles): Set(handles).sorted().compactMap { directory.user($0) }
        case .group: []
        }
    }

    /// Lets an ended call leave memory, unless one of its pushes is still open.
    func forget(_ call: Call) {
        guard !call.legs.contains(where: { $0.push?.isOpen == true }) else {
            call.deadline = deadlines.add(.forget(call), at: now + timers.report)
            return
        }
        calls[call.id] = nil
        for leg in call.legs {
            leg.device.legs.removeAll { $0 === leg }
            if let push = leg.push { pushes[push.id] = nil }
            // The push holds its leg.
            leg.push = nil
        }
        call.legs = []
    }
}
