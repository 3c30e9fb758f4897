import CallVocabulary

/// Requests without a session: plain HTTP from a phone that has no WebSocket.
extension CallCore {
    func answer(
        _ question: SessionlessRequest, _ grant: SessionGrant, _ device: DeviceID?, _ connection: ConnectionID,
        _ request: RequestID
    ) {
        let id: CallID
        switch question {
        case .get(let call): id = call
        case .report(let report): id = report.call
        }
        guard grant.scope.mayAct(on: id) else { return refuseStranger(connection, request) }
        guard let call = calls[id] else {
            if !mayBeStored(id) { return refuseStranger(connection, request) }
            return lookUp(id, then: .asked(connection, request, question, grant, device))
        }
        switch question {
        case .get:
            let asking = device.flatMap { directory.user(grant.user)?.device($0) }
            // A wake token belongs to one device and shows only what that device may see.
            if grant.scope != .full,
                asking.flatMap({ $0.hasLoggedOut ? nil : role(of: $0, in: call) }) == nil
            {
                return refuseStranger(connection, request)
            }
            guard let view = view(of: call, for: grant.user, device: asking) else {
                return refuseStranger(connection, request)
            }
            if let leg = asking.flatMap({ call.leg(of: $0) }) ?? onlyPushedLeg(of: call, grant.user, device) {
                noteLife(of: leg.device)
                noteAct(on: leg, byWakeToken: grant.scope != .full)
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

    /// The leg of a request whose token names no device: the user's only device that was pushed for the call.
    private func onlyPushedLeg(of call: Call, _ user: Handle, _ named: DeviceID?) -> Leg? {
        guard named == nil else { return nil }
        let pushed = call.legs.filter { $0.device.key.user == user && $0.push != nil }
        return pushed.count == 1 ? pushed[0] : nil
    }
}
