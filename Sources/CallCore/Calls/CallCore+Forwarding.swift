import CallVocabulary
import Determinism

/// Forwarding of calls that their callee does not answer.
extension CallCore {
    /// Rings the first target; ends the call when neither it nor a target it forwards to can be rung.
    func ringFirst(_ call: Call) {
        if let reason = ringTarget(call) { endUnanswered(call, reason, by: nil) }
    }

    /// Ends an unanswered call, unless its callee forwards such calls: then the next target rings, once it is looked up.
    func endUnanswered(_ call: Call, _ reason: EndReason, by party: Party?) {
        var (reason, party) = (reason, party)
        // The lookup of a target is under way. Whatever ends the call now, apart from a person, waits for it.
        if lanes[.forwarding(call.id)] != nil, reason != .declined { return }
        while let target = forwardingTarget(of: call, reason) {
            guard
                isAtHand(
                    wanted(for: target), for: .forwarding(call.id, reason, by: party), in: .forwarding(call.id))
            else { return }
            guard forward(call, reason, to: target) else { break }
            let state = call.state
            guard let next = ringTarget(call) else {
                // The caller is told the new ring deadline, which a new state brings along.
                if call.state == state { tellCaller(of: call, by: nil) }
                return
            }
            (reason, party) = (next, nil)
        }
        endCall(call, reason, by: party)
    }

    /// Makes the callee's forwarding target the target of the call.
    /// - Returns: false when the target cannot be called.
    private func forward(_ call: Call, _ reason: EndReason, to target: CallTarget) -> Bool {
        guard call.forwards.count < limits.forwards else {
            counters.hit(.forwards)
            return false
        }
        var callees = call.callees
        guard callees.forward(to: Callees(of: target, in: directory), butFor: call.caller.user) else { return false }
        for leg in call.legs where leg.isOpen { closeLeg(leg, reason, by: nil, isOwnAct: false) }
        cancel(call.deadline)
        call.deadline = nil
        cancel(call.huntDeadline)
        call.huntDeadline = nil
        let ringsUntil =
            now
            + ringTime(of: callees, forwards: call.forwards.count + 1, caller: call.caller.user, asked: call.ringTime)
        call.forward(to: target, callees, reason: reason, at: now, ringsUntil: ringsUntil)
        schedule(.ring(call), at: ringsUntil, in: &call.deadline)
        enterLiveCalls(call, from: callees.first)
        let bytes = storedBytes(of: callees.handles[callees.first...], to: target, callerName: call.callerName)
        spendStorage(bytes, of: call.callerDevice.user)
        counters.callsForwarded += 1
        persist(call)
        return true
    }

    /// Where the present target, one user, forwards a call that ends with `reason`.
    private func forwardingTarget(of call: Call, _ reason: EndReason) -> CallTarget? {
        guard call.callees.isOne, let rules = directory.user(call.callees.handles[call.callees.first])?.rules else {
            return nil
        }
        return switch reason {
        case .busy: rules.forwardBusy
        case .ringTimeout, .noDevices, .unknownCallee: rules.forwardNoAnswer
        case .hangup, .declined, .cancelled, .connectTimeout, .answeredElsewhere, .declinedElsewhere, .glare,
            .iceFailed, .mediaFailed, .connectionLost, .forbidden, .admin, .maxDuration:
            nil
        }
    }

    /// How long a target may ring. A user who forwards unanswered calls may want a shorter time, which holds if this call
    /// can be forwarded.
    /// - Parameters:
    ///   - forwards: how often the call has been forwarded by then.
    ///   - asked: the ring time of the invite.
    func ringTime(of callees: Callees, forwards: Int, caller: Handle, asked: Duration?) -> Duration {
        let whole = asked ?? timers.ring
        guard callees.isOne, forwards < limits.forwards,
            let rules = directory.user(callees.handles[callees.first])?.rules, let after = rules.noAnswerAfter,
            let target = rules.forwardNoAnswer
        else { return whole }
        var next = callees
        guard next.forward(to: Callees(of: target, in: directory), butFor: caller) else { return whole }
        return min(whole, after)
    }
}
