import CallCore
import CallVocabulary
import RecordModel

/// Invariants of replies to requests.
extension Inspector {
    func check(_ reply: Reply, to request: ServerRequest) {
        if isWithdrawn(request), case .command(.call(.hangup(_, let reason))) = request.body,
            reply == .callState(.ended, reason == .hangup ? .cancelled : reason.endReason)
        {
            return coverage.count("invite.withdrawn")
        }
        if !request.isEntitled(decided), decided.knows(request.user) {
            violate("a request without permission was granted: \(reply)")
        }
        if case .command(.owner(.invite(let invite))) = request.body {
            checkInvite(invite, by: request.device, isConflict: false)
        }
        switch reply {
        case .done: checkDone(request)
        case .opened: break
        case .backendCall(let call): check(call, for: request)
        case .calls(let snapshots, _): for snapshot in snapshots { check(snapshot, for: request) }
        case .invited(let id, let state, _):
            guard let call = decided.calls[id] else { return violate("an invite was acknowledged and not recorded") }
            if call.state != state, !isOvertaken(state, of: call) {
                violate("an invite was told \(state), and is \(call.state)")
            }
        case .inviteEnded(let id, let reason):
            coverage.count("invite.\(reason.rawValue)")
            guard let call = decided.calls[id] else { return violate("an invite was refused and not recorded") }
            if call.state != .ended || call.endReason != reason { violate("an invite got another end reason") }
        case .callState(let state, let reason):
            guard let id = request.call, let standing = standing(of: id, for: request) else { return }
            if standing != (state, reason), !(decided.calls[id].map { isOvertaken(state, of: $0) } ?? false) {
                violate("told that \(id) is \(state), not \(standing.0)")
            }
            checkDecision(request, id)
        case .won:
            guard let id = request.call, let call = decided.calls[id] else { return violate("an unknown call was won") }
            if call.answeredBy != Party(user: request.user, device: request.device) { violate("a loser was told: won") }
            if case .ask = request.body, call.answeredAt == now, let key = request.key {
                // The device has the resume window from now on, to come back to the call.
                memory.renew(sessions(of: key, for: id), at: now)
            }
        case .call(let snapshot):
            check(snapshot, for: request)
            guard snapshot.state == .ended else { return }
            // A request that names no device speaks for the user's only one.
            let devices = decided.legs(of: snapshot.call).map(\.device).filter { $0.user == request.user }
            for key in request.key.map({ [$0] }) ?? devices {
                shownEnds.insert(Disk.LegKey(call: snapshot.call, device: key))
            }
        }
    }

    private func sessions(of key: DeviceKey, for call: CallID) -> [SessionID] {
        sessions.filter { $1.key == key && ($1.scope == .full || $1.scope == .call(call)) }.map(\.key)
    }

    private func checkDone(_ request: ServerRequest) {
        guard case .command(let command) = request.body, let key = request.key else { return }
        let held = decided.devices[key]?.tokens.map(\.token) ?? []
        switch command {
        case .owner(.logout): if !held.isEmpty { violate("a logged-out device still has a token") }
        case .owner(.updateDevice(let tokens)):
            if Set(held) != Set(tokens.prefix(8)) { violate("a device's tokens differ from the registered ones") }
        case .open, .session, .call, .owner: break
        }
    }

    /// Checks that an acknowledged request took effect.
    private func checkDecision(_ request: ServerRequest, _ id: CallID) {
        let leg = request.key.flatMap { decided.leg(id, $0) }
        switch request.body {
        case .command(.call(.decline)), .ask(.decline):
            if leg?.state != .ended { violate("a decline was acknowledged and not recorded") }
        case .command(.call(.hangup)), .ask(.hangup):
            let isWinner = decided.calls[id]?.answeredBy?.device == request.device
            if leg == nil || isWinner, decided.calls[id]?.state != .ended { violate("a hangup was not recorded") }
        case .command(.call(.report(let report))), .ask(.report(let report)): checkReport(report)
        case .backend(.hangup):
            if decided.calls[id]?.state != .ended { violate("a backend's hangup was acknowledged and not recorded") }
        case .command, .ask, .backend, .open: break
        }
    }

    private func checkReport(_ report: PushReport) {
        guard let push = decided.pushes[report.push] else { return }
        if push.report == .awaited || push.report == .unreported || push.status == .intended {
            violate("a report was acknowledged and not recorded: \(push.status) \(push.report?.rawValue ?? "none")")
        }
    }

    /// A backend sees the whole call.
    private func standing(of id: CallID, for request: ServerRequest) -> (CallState, EndReason?)? {
        guard case .backend = request.body else { return standing(of: id, for: request.key) }
        return decided.calls[id].map { ($0.state, $0.endReason) }
    }

    /// A backend gets the present state of the call; a follower gets it only after a change.
    private func check(_ call: BackendCall, for request: ServerRequest) {
        coverage.count("backend.call")
        guard case .backend(let command) = request.body else { return violate("a phone got the answer for a backend") }
        check(call.snapshot, for: request)
        if case .follow(_, let version) = command, call.version == version, call.snapshot.state != .ended {
            violate("a follower got a state that it knew")
        }
        if decided.calls[call.snapshot.call]?.caller.device != nil, call.snapshot.sdp != nil {
            violate("a backend got the SDP of a device's call")
        }
    }

    /// The state of the call for a device; nil for a device without a leg that is not the caller. A dropped device sees
    /// what its user sees.
    private func standing(of id: CallID, for key: DeviceKey?) -> (CallState, EndReason?)? {
        guard let key, decided.devices[key] != nil, let call = decided.calls[id] else { return nil }
        if let leg = decided.leg(id, key) {
            return leg.state == .ended ? (.ended, leg.endReason) : (call.state, call.endReason)
        }
        guard call.caller == Party(user: key.user, device: key.device) else { return nil }
        return (call.state, call.endReason)
    }

    func check(_ snapshot: CallSnapshot, for request: ServerRequest) {
        coverage.count("snapshot")
        guard let call = decided.calls[snapshot.call] else { return violate("a snapshot of an unknown call") }
        if snapshot.from != call.caller.user || snapshot.to != call.to { violate("a snapshot of another call") }
        guard let standing = standing(of: snapshot.call, for: request) else { return }
        // This session may reopen a leg that ended only because the device was unreachable.
        let isReopened = standing.1 == .noDevices && snapshot.state == call.state
        if standing != (snapshot.state, snapshot.reason), !isReopened, !isOvertaken(snapshot.state, of: call) {
            violate("a snapshot shows \(snapshot.call) as \(snapshot.state), not as \(standing.0)")
        }
        if snapshot.mergedInto != call.mergedInto, snapshot.role == .caller {
            violate("a snapshot omits the glare's winner")
        }
    }

    /// Whether a later request of the same step has moved the call on. All requests that waited for one answer of the
    /// store are handled in one step, and the last record of the call stands for those before it.
    func isOvertaken(_ state: CallState, of call: CallRecord) -> Bool {
        guard case .store = input else { return false }
        return changedCalls.contains(call.id) && state.rank < call.state.rank
    }

    /// Whether the call was asked about and never recorded: its end is no promise.
    func isWithdrawn(_ request: ServerRequest) -> Bool {
        request.call.map { decided.calls[$0] == nil && askedAbout.contains($0) } ?? false
    }

    func check(_ error: SignalError, to request: ServerRequest) {
        if isWithdrawn(request), case .callEnded = error.code { return }
        let record = request.call.flatMap { decided.calls[$0] }
        let leg = request.key.flatMap { key in request.call.flatMap { decided.leg($0, key) } }
        switch error.code {
        case .forbidden:
            if record != nil, request.isEntitled(decided), !request.mayHaveLoggedOut(decided) {
                violate("a party was refused: \(request.body)")
            }
        case .callEnded(let reason):
            if record?.state != .ended, leg?.state != .ended { violate("call_ended of a call that has not ended") }
            if (leg?.endReason ?? record?.endReason) != reason { violate("call_ended with another reason") }
        case .alreadyAnswered(let by): if record?.answeredBy != by { violate("already_answered names another device") }
        case .notFound where request.isOfBackend:
            if record != nil { violate("a backend got not_found for an existing call: \(request.body)") }
        case .conflict:
            if case .command(.owner(.invite(let invite))) = request.body {
                checkInvite(invite, by: request.device, isConflict: true)
            }
        case .badState, .limitReached, .overloaded, .draining, .rateLimited, .tooLarge: break
        // A request in progress when its session was replaced.
        case .unauthenticated: break
        case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError, .notFound:
            violate("refused as \(error.code.name): \(request.body)")
        }
    }
}
