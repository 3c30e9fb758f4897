import CallVocabulary
import Determinism

/// Ended calls that have left memory and remain in the store.
/// An input that names one waits for the lookup. The call then returns to memory for ``CallTimers/archive``, in the
/// state it had just after its end, and the input is handled as usual.
extension CallCore {
    /// Whether a call that is not in memory may be in the store.
    func mayBeStored(_ id: CallID) -> Bool { absentCall != id && knownCalls.mayContain(id) }

    /// Why none of the inputs brings the call back to memory; nil when one does.
    func refusal(of stored: StoredCall, to inputs: [Deferred]) -> (code: SignalError.Code, message: String)? {
        // Every live call is in memory: the store was read before it had committed the end of this call.
        guard stored.call.state == .ended else {
            return (.overloaded(retryAfter: .seconds(1)), "The call cannot be looked up right now; try again shortly.")
        }
        return inputs.contains { isParty($0, of: stored) } ? nil : (.forbidden, Self.strangersRefusal)
    }

    private func isParty(_ deferred: Deferred, of stored: StoredCall) -> Bool {
        guard case .client(let input) = deferred.work else { return false }
        let user: Handle
        switch input {
        case .opened(_, _, _, let grant), .asked(_, _, _, let grant, _), .tokenShown(_, _, let grant, _):
            user = grant.user
        // The id is taken, whoever placed the call.
        case .backend(_, _, .invite, _): return true
        case .backend(_, _, _, let scope): return scope.includes(stored.call.caller.user)
        case .requested, .notified:
            guard let device = deferred.device else { return false }
            user = device.user
        }
        return stored.call.caller.user == user || stored.legs.contains { $0.device.user == user }
            || Callees(stored.call).position(of: user) != nil
    }

    /// Enters a report whose session closed during the lookup: each report closes a push.
    func enterReport(of deferred: Deferred) {
        guard case .client(.requested(_, _, .call(.report(let report)))) = deferred.work, let device = deferred.device,
            let leg = calls[report.call]?.legs.first(where: {
                $0.device.key == device && $0.record.push == report.push
            })
        else { return }
        enter(report, from: leg)
    }

    /// Whether there is no room for a call's legs, for all or in the user's share.
    func isArchiveFull(for user: Handle?) -> Bool {
        let legs = limits.archivedLegs
        return archivedLegs >= legs || archivedShares.count(of: user) >= CoreLimits.share(of: legs)
    }

    /// - Parameter user: whose share it takes.
    func revive(_ stored: StoredCall, for user: Handle) {
        let call = restore(stored.call, descriptions: nil, isFromArchive: true)
        var legs: [PushID: Leg] = [:]
        for record in stored.legs { legs[record.push] = restore(record, of: call) }
        call.restorePhase(from: stored.call)
        for record in stored.pushes {
            guard let leg = legs[record.id] else { continue }
            restore(record, of: leg)
            // As in ``recover(_:now:effects:)``: a pushed device without tokens has logged out.
            if leg.device.tokens.isEmpty, leg.device.session == nil { leg.device.hasLoggedOut = true }
        }
        call.archivedBy = user
        archivedLegs += max(1, call.legs.count)
        archivedShares.add(max(1, call.legs.count), to: user)
        schedule(.forget(call), at: now + timers.archive, in: &call.deadline)
    }
}
