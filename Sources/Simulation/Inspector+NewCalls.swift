import CallCore
import CallVocabulary
import RecordModel

/// Invariants of a new call: its authorization, the devices it may ring, and the resolution of glare.
extension Inspector {
    func checkNewCalls() {
        for (index, id) in newCalls.enumerated() {
            guard let call = decided.calls[id] else { continue }
            checkAuthorization(of: call)
            checkPolicies(of: call, before: newCalls[(index + 1)...])
            checkGlare(of: call)
            // A call may wait for the lookup of the target that it is forwarded to.
            if call.state.isRingingPhase, !decided.legs(of: id).contains(where: { $0.state != .ended }),
                call.hunt == nil, memory.lookUps.isEmpty
            {
                violate("\(id) rings nowhere")
            }
        }
    }

    /// A call of a device begins because the backend allows it, or has not answered where the policy allows that.
    private func checkAuthorization(of call: CallRecord) {
        guard let policy = authorization, call.caller.device != nil else { return }
        if allowedCalls.contains(call.id) { return coverage.count("call.authorized") }
        if case .authorized(call.id, _, .refused) = input { return violate("a refused invite began a call") }
        if !policy.allowsOnFailure { violate("a call began that the backend has not allowed") }
    }

    /// - Parameter later: the calls that began after it, in the same step.
    private func checkPolicies(of call: CallRecord, before later: ArraySlice<CallID>) {
        for leg in newLegs where leg.call == call.id {
            let user = leg.device.user
            // The caller of a backend's call has no device; its user's devices may ring.
            if let device = call.caller.device, leg.device == DeviceKey(user: call.caller.user, device: device) {
                violate("the calling device was called")
            }
            if isBlocked(call, by: user) { violate("a blocked caller rings") }
            guard let policy = decided.users[user]?.policy else { continue }
            if policy.doNotDisturb, user != call.caller.user { violate("a call to a user with do not disturb") }
            if !policy.callWaiting, user != call.caller.user, isEngaged(user, besides: later + [call.id]) {
                violate("a second call to a user without call waiting")
            }
        }
    }

    /// Whether the user is the caller of a live call, or has a leg that has not ended. A call that this one replaced is
    /// over.
    private func isEngaged(_ user: Handle, besides others: ArraySlice<CallID>) -> Bool {
        decided.liveCalls.contains { id in
            guard !others.contains(id), let other = decided.calls[id] else { return false }
            return other.caller.user == user
                || decided.legs(of: id).contains { $0.device.user == user && $0.state != .ended }
        }
    }

    private func checkGlare(of call: CallRecord) {
        guard call.state.isRingingPhase, let callee = call.onlyCallee, callee != call.caller.user else { return }
        for id in decided.liveCalls where id != call.id {
            guard let other = decided.calls[id], other.state.isRingingPhase else { continue }
            // The caller of a backend's call may have become a user meanwhile: the two are not the same for the core.
            if [call, other].contains(where: { $0.caller.device == nil }) { continue }
            if other.caller.user == callee, other.onlyCallee == call.caller.user {
                violate("\(call.id) and \(id) are glare and both ring")
            }
        }
    }

    /// Repeated invites get the same reply, and an id never names a second call.
    func checkInvite(_ invite: Invite, by device: DeviceID?, isConflict: Bool) {
        if let index = unnamed.firstIndex(of: invite.call) {
            unnamed.remove(at: index)
            invites[invite.call] = invite
        }
        guard let call = decided.calls[invite.call], let first = invites[invite.call] else { return }
        let isSame = first == invite && call.caller.device == device
        if isConflict, isSame { violate("a repeated invite got a conflict") }
        if !isConflict, !isSame { violate("an id was given to a second call") }
    }
}
