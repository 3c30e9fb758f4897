import CallCore
import CallVocabulary
import RecordModel

/// Invariants of block lists and of forwarded calls.
extension Inspector {
    func isBlocked(_ call: CallRecord, by user: Handle) -> Bool {
        user != call.caller.user && decided.rules[user]?.rules.blocked.contains(call.caller.user) == true
    }

    /// Whether the one callee takes no call from this caller.
    func refuses(_ call: CallRecord) -> Bool {
        guard let callee = call.onlyCallee else { return false }
        return isBlocked(call, by: callee) || (decided.users[callee]?.policy ?? userPolicy).doNotDisturb
    }

    /// A call that was forwarded in this step has left its callees before, and rings only at the new ones.
    func checkForward(_ id: CallID) {
        guard let call = decided.calls[id], let forward = call.forwards.last else { return }
        coverage.count("call.forwarded")
        if call.forwards.count > 3 { violate("\(id) was forwarded \(call.forwards.count) times") }
        if forward.firstMember >= call.callees.count { violate("\(id) was forwarded to nobody") }
        if call.callees.dropFirst(forward.firstMember).contains(call.caller.user) {
            violate("\(id) was forwarded to its caller")
        }
        if Set(call.callees).count != call.callees.count { violate("\(id) was forwarded to a callee of its own") }
        let former = call.callees.prefix(forward.firstMember)
        for leg in decided.legs(of: id) where former.contains(leg.device.user) && leg.state != .ended {
            violate("\(id) still rings at \(leg.device.user)")
        }
        for leg in newLegs where leg.call == id && isBlocked(call, by: leg.device.user) {
            violate("a blocked caller rings")
        }
    }

    /// A call to one user does not end unanswered where that user forwards it, if the store can be read.
    func checkNotForwarded(_ call: CallRecord, _ reason: EndReason) {
        guard call.answeredAt == nil, call.forwards.count < 3, let last = call.callees.last,
            case .user = call.forwards.last?.to ?? call.to, let rules = decided.rules[last]?.rules
        else { return }
        let target: CallTarget? =
            switch reason {
            case .busy: rules.forwardBusy
            case .ringTimeout, .noDevices, .unknownCallee: rules.forwardNoAnswer
            case .hangup, .declined, .cancelled, .connectTimeout, .answeredElsewhere, .declinedElsewhere, .glare,
                .iceFailed, .mediaFailed, .connectionLost, .forbidden, .admin, .maxDuration:
                nil
            }
        guard case .user(let next)? = target else { return }
        if let failedAt = memory.lookUpFailedAt, now < failedAt + .seconds(7) { return }
        let user = decided.aliases[next]?.user ?? next
        if user != call.caller.user, !call.callees.contains(user) {
            violate("\(call.id) ended as \(reason.rawValue) and was not forwarded to \(next)")
        }
    }
}
