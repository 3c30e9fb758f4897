import CallVocabulary
import Determinism

/// Calls that memory has let go and the store still has. Whoever names one waits for it to be found; then it is back as
/// it was when it had just ended, for a short time, and all else goes its usual way.
extension CallCore {
    /// Whether a call that is not in memory may be in the store.
    func mayBeStored(_ id: CallID) -> Bool { absentCall != id && knownCalls.mayContain(id) }

    /// Has the call looked up, and takes the input again when that is done.
    func lookUp(_ id: CallID, then input: CoreInput) {
        guard lookUpCount < limits.lookUps, archivedCalls < limits.archivedCalls else {
            counters.limitsHit += 1
            return putOff(input)
        }
        if case .sessionOpened(let connection, _, _, _) = input { openingAfterLookUp.insert(connection) }
        lookUpCount += 1
        if lookUps[id] == nil {
            counters.callsLookedUp += 1
            effects.append(.findCall(id))
        }
        lookUps[id, default: []].append(input)
    }

    func takeUpSearch(_ id: CallID, _ stored: StoredCall?) {
        guard let inputs = lookUps.removeValue(forKey: id) else { return }
        lookUpCount -= inputs.count
        if let stored {
            // Every live call is in memory, so this was read before its end was written.
            guard stored.call.state == .ended else { return inputs.forEach(putOff) }
            if calls[id] == nil { revive(stored) }
        } else {
            absentCall = id
        }
        for input in inputs where isStillAsked(input) { take(input) }
        absentCall = nil
    }

    func giveUpSearch(_ id: CallID) {
        guard let inputs = lookUps.removeValue(forKey: id) else { return }
        lookUpCount -= inputs.count
        for input in inputs where isStillAsked(input) { putOff(input) }
    }

    /// Whether there is still somebody to answer.
    private func isStillAsked(_ input: CoreInput) -> Bool {
        switch input {
        case .sessionOpened(let connection, _, _, _): openingAfterLookUp.remove(connection) != nil
        case .requested(let connection, _, _): directory.session(on: connection) != nil
        case .asked, .notified, .connectionLost, .pushReady, .pushEnded, .drainingBegan, .callFound, .callSearchFailed,
            .storedCallsListed, .administered:
            true
        }
    }

    private func putOff(_ input: CoreInput) {
        switch input {
        case .sessionOpened(let connection, let request, _, _), .requested(let connection, let request, _),
            .asked(let connection, let request, _, _, _):
            refuse(
                connection, request, .overloaded(retryAfter: .seconds(1)),
                "The call cannot be looked up right now; try again shortly.")
        case .notified, .connectionLost, .pushReady, .pushEnded, .drainingBegan, .callFound, .callSearchFailed,
            .storedCallsListed, .administered:
            preconditionFailure("only what is answered waits for a look-up")
        }
    }

    private func revive(_ stored: StoredCall) {
        archivedCalls += 1
        let call = restore(stored.call, offer: nil, isFromArchive: true)
        for record in stored.legs { restore(record, of: call) }
        call.restorePhase(from: stored.call)
        for record in stored.pushes { restore(record, of: call) }
        call.deadline = deadlines.add(.forget(call), at: now + timers.archive)
    }

    // MARK: Questions without a session

    /// Answers a request that came by plain HTTP, from a phone whose socket is not up.
    func answer(
        _ question: SessionlessRequest, _ grant: SessionGrant, _ device: DeviceID?, _ connection: ConnectionID,
        _ request: RequestID
    ) {
        let id: CallID
        switch question {
        case .get(let call): id = call
        case .report(let report): id = report.call
        }
        guard grant.mayAct(on: id) else { return refuseStranger(connection, request) }
        guard let call = calls[id] else {
            if !mayBeStored(id) { return refuseStranger(connection, request) }
            return lookUp(id, then: .asked(connection, request, question, grant, device))
        }
        switch question {
        case .get:
            let asking = device.flatMap { directory.user(grant.user)?.device($0) }
            // A wake token is one device's, and shows what that one may see.
            if grant.scope != .full, asking.flatMap({ role(of: $0, in: call) }) == nil {
                return refuseStranger(connection, request)
            }
            guard let view = view(of: call, for: grant.user, device: asking) else {
                return refuseStranger(connection, request)
            }
            reply(connection, request, .call(view))
        case .report(let report):
            let leg = call.legs.first { leg in
                leg.record.push == report.push && leg.device.key.user == grant.user
                    && (device == nil || leg.device.key.device == device)
            }
            guard let leg else { return refuseStranger(connection, request) }
            takeReport(report, call, .callee(leg), connection, request)
        }
    }
}

extension SessionGrant {
    func mayAct(on call: CallID) -> Bool {
        switch scope {
        case .full: true
        case .call(let only): only == call
        }
    }
}
