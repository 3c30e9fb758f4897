import CallVocabulary
import Determinism

/// An input that waits until the store has looked up its call.
struct Deferred {
    let input: ClientInput
    /// The device of the session that sent it; nil for an input without a session.
    let device: Device?
    /// The session has closed: no client waits for the answer.
    var isOrphan = false
}

/// Ended calls that have left memory and remain in the store.
/// An input that names one waits for the lookup. The call then returns to memory for ``CallTimers/archive``, in the
/// state it had just after its end, and the input is handled as usual.
extension CallCore {
    /// Whether a call that is not in memory may be in the store.
    func mayBeStored(_ id: CallID) -> Bool { absentCall != id && knownCalls.mayContain(id) }

    /// Looks the call up in the store, then handles `input` again.
    func lookUp(_ id: CallID, then input: ClientInput) {
        guard lookUpCount < limits.lookUps, archivedLegs < limits.archivedLegs else {
            counters.hit(lookUpCount < limits.lookUps ? .archivedLegs : .lookUps)
            return putOff(Deferred(input: input, device: nil))
        }
        var device: Device?
        switch input {
        case .opened(let connection, _, _, _): openingAfterLookUp.insert(connection)
        case .requested(let connection, _, _), .notified(let connection, _, _):
            device = directory.session(on: connection)?.device
        case .asked, .tokenShown, .backend: break
        }
        lookUpCount += 1
        if lookUps[id] == nil {
            counters.callsLookedUp += 1
            effects.append(.findCall(id))
        }
        lookUps[id, default: []].append(Deferred(input: input, device: device))
    }

    func takeUpSearch(_ id: CallID, _ stored: StoredCall?) {
        let waiting = endSearch(id)
        guard let stored else {
            absentCall = id
            for deferred in waiting where !deferred.isOrphan { take(deferred.input) }
            absentCall = nil
            return
        }
        // Every live call is in memory: the store was read before it had committed the end of this call.
        guard stored.call.state == .ended else { return waiting.forEach(putOff) }
        if calls[id] == nil {
            // Only a party of the call restores it to memory.
            guard waiting.contains(where: { isParty($0, of: stored) }) else {
                return waiting.forEach { turnAway($0, .forbidden, Self.strangersRefusal) }
            }
            revive(stored)
        }
        for deferred in waiting { if deferred.isOrphan { enterReport(of: deferred) } else { take(deferred.input) } }
    }

    func giveUpSearch(_ id: CallID) {
        endSearch(id).forEach(putOff)
    }

    /// Removes the inputs that waited for the call.
    /// - Returns: those whose client is still connected, and all reports: each report closes a push.
    private func endSearch(_ id: CallID) -> [Deferred] {
        guard let waiting = lookUps.removeValue(forKey: id) else { return [] }
        lookUpCount -= waiting.count
        return waiting.compactMap { deferred in
            switch deferred.input {
            case .opened(let connection, _, _, _):
                return openingAfterLookUp.remove(connection) == nil ? nil : deferred
            case .requested(let connection, _, .call(.report)):
                var deferred = deferred
                deferred.isOrphan = directory.session(on: connection) == nil
                return deferred
            case .requested(let connection, _, _), .notified(let connection, _, _):
                return directory.session(on: connection) == nil ? nil : deferred
            case .asked, .tokenShown, .backend: return deferred
            }
        }
    }

    private func isParty(_ deferred: Deferred, of stored: StoredCall) -> Bool {
        let user: Handle
        switch deferred.input {
        case .opened(_, _, _, let grant), .asked(_, _, _, let grant, _), .tokenShown(_, _, let grant, _):
            user = grant.user
        case .backend(_, _, _, let scope): return scope.includes(stored.call.caller.user)
        case .requested, .notified:
            guard let device = deferred.device else { return false }
            user = device.key.user
        }
        return stored.call.caller.user == user || stored.legs.contains { $0.device.user == user }
            || Callees(stored.call).position(of: user) != nil
    }

    /// Enters a report whose session closed during the lookup.
    private func enterReport(of deferred: Deferred) {
        guard case .requested(_, _, .call(.report(let report))) = deferred.input, let device = deferred.device,
            let leg = calls[report.call]?.legs.first(where: {
                $0.device.key == device.key && $0.record.push == report.push
            })
        else { return }
        enter(report, from: leg)
    }

    private func putOff(_ deferred: Deferred) {
        turnAway(
            deferred, .overloaded(retryAfter: .seconds(1)), "The call cannot be looked up right now; try again shortly."
        )
    }

    private func turnAway(_ deferred: Deferred, _ code: SignalError.Code, _ message: String) {
        if deferred.isOrphan { return }
        if case .notified(_, _, .candidates(let batch)) = deferred.input {
            counters.candidatesRefused += UInt64(batch.candidates.count)
            return refuse(
                deferred.input.connection, deferred.input.request, SignalError(code, message, call: batch.call))
        }
        refuse(deferred.input.connection, deferred.input.request, SignalError(code, message))
    }

    private func revive(_ stored: StoredCall) {
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
        archivedLegs += max(1, call.legs.count)
        call.deadline = deadlines.add(.forget(call), at: now + timers.archive)
    }
}
