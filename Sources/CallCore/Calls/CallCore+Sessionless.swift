import CallVocabulary
import Determinism

/// Requests without a session: plain HTTP from a phone that has no WebSocket, or whose native code runs before the app.
extension CallCore {
    func perform(
        _ command: CallRequest, _ grant: SessionGrant, _ named: DeviceID?, _ connection: ConnectionID,
        _ request: RequestID
    ) {
        let id = command.call
        let work = Deferred.Work.client(.asked(connection, request, command, grant, named))
        guard isAtHand(wanted(grant.user), for: work, in: .call(id)) else { return }
        if let refusal = revocation(of: grant) { return refuse(connection, request, refusal) }
        if !command.isFailedReport { noteLife(of: named, grant) }
        guard grant.scope.mayAct(on: id) else { return refuseStranger(connection, request) }
        guard let call = calls[id] else {
            if !mayBeStored(id) { return refuseStranger(connection, request) }
            _ = isAtHand(Wanted(call: id), for: work, in: .call(id))
            return
        }
        if grant.scope != .full,
            let leg = call.legs.first(where: { $0.device.key.user == grant.user && $0.device.key.device == named }),
            let refusal = revocation(ofWakeTokenFor: leg)
        {
            return refuse(connection, request, refusal)
        }
        if case .report(let report) = command {
            guard let leg = leg(of: report, in: call, grant.user, named) else {
                return refuseStranger(connection, request)
            }
            return takeReport(report, call, .callee(leg), connection, request)
        }
        let device = named.flatMap { directory.user(grant.user)?.device($0) }
        // A wake token belongs to one device and shows only what that device may see.
        if grant.scope != .full, device.flatMap({ $0.hasLoggedOut ? nil : role(of: $0, in: call) }) == nil {
            return refuseStranger(connection, request)
        }
        if case .get = command { return show(call, to: grant, device, isNamed: named != nil, connection, request) }
        let parts = parts(of: grant.user, device, isNamed: named != nil, in: call)
        guard let party = parts.first else { return refuseStranger(connection, request) }
        guard parts.count == 1 else {
            return refuse(
                connection, request, .invalidParams,
                "device: several of your devices are in this call; name the one that acts.")
        }
        act(command, call, party, byWakeToken: grant.scope != .full, connection, request)
    }

    private func leg(of report: PushReport, in call: Call, _ user: Handle, _ named: DeviceID?) -> Leg? {
        call.legs.first { leg in
            leg.record.push == report.push && leg.device.key.user == user
                && (named == nil || leg.device.key.device == named)
        }
    }

    private func show(
        _ call: Call, to grant: SessionGrant, _ device: Device?, isNamed: Bool, _ connection: ConnectionID,
        _ request: RequestID
    ) {
        guard let view = view(of: call, for: grant.user, device: device, isNamed: isNamed) else {
            return refuseStranger(connection, request)
        }
        if let leg = device.flatMap({ call.leg(of: $0) }) ?? (isNamed ? nil : onlyPushedLeg(of: call, grant.user)) {
            noteLife(of: leg.device)
            noteAct(on: leg, byWakeToken: grant.scope != .full)
        }
        reply(connection, request, .call(view))
    }

    /// The leg of a request whose token names no device: the user's only device that was pushed for the call.
    private func onlyPushedLeg(of call: Call, _ user: Handle) -> Leg? {
        let pushed = call.legs.filter { $0.device.key.user == user && $0.push != nil }
        return pushed.count == 1 ? pushed[0] : nil
    }

    /// The parts in the call that a request may mean. If it names no device: the one that answered, or else all parts of
    /// the user.
    private func parts(of user: Handle, _ device: Device?, isNamed: Bool, in call: Call) -> [PartyRole] {
        if isNamed { return device.flatMap { role(of: $0, in: call) }.map { [$0] } ?? [] }
        if let winner = call.answer?.leg, winner.device.key.user == user { return [.callee(winner)] }
        let own = call.legs.filter { $0.device.key.user == user && !$0.device.isDropped }
        let legs = own.map { PartyRole.callee($0) }
        return call.caller.user == user && !call.isFromBackend ? [.caller] + legs : legs
    }

    private func act(
        _ command: CallRequest, _ call: Call, _ party: PartyRole, byWakeToken: Bool, _ connection: ConnectionID,
        _ request: RequestID
    ) {
        let wasUnanswered = call.isUnanswered
        switch party {
        case .caller: noteLife(of: call.callerDevice)
        case .callee(let leg):
            noteLife(of: leg.device)
            noteAct(on: leg, byWakeToken: byWakeToken)
            reopen(leg, for: command)
        }
        perform(command, call, party, connection, request)
        if wasUnanswered, let winner = call.answer?.leg { awaitSession(of: winner) }
    }

    /// The device was given up as unreachable, and acts now: its part in the call is open again, as when it opens a
    /// session. A decline counts even where the device would not ring.
    private func reopen(_ leg: Leg, for command: CallRequest) {
        guard leg.call.isUnanswered, leg.record.endReason == .noDevices else { return }
        let declines =
            switch command {
            case .decline, .hangup: true
            case .get, .report, .ringing, .answer, .connected, .update: false
            }
        if declines || mayStillRing(leg.device.user, leg.call) { reopen(leg) }
    }

    /// The device has answered without its session. A session that it has is told. Without a connected one the device has
    /// the resume window to open or resume one, and the caller is told so.
    private func awaitSession(of winner: Leg) {
        let (call, device) = (winner.call, winner.device)
        let session = device.session(for: call)
        if let session { deliver(.state(change(of: call, for: .callee, by: device.party, sdp: nil)), to: session) }
        guard session?.connection == nil else { return }
        if let session {
            schedule(.resume(session), at: now + timers.resume, in: &session.resumeDeadline)
        } else {
            awaitReturn(of: device)
        }
        noteAway(device, from: call)
    }
}
