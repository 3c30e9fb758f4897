import CallCore
import CallVocabulary
import PushVocabulary
import RecordModel

/// Invariants of a push for a call: it is queued as intended, and sent only while it can make the device ring.
extension Inspector {
    func check(_ intent: PushIntent) {
        guard let push = decided.pushes[intent.id] else { return violate("queued a push that was not intended") }
        if push.status != .intended { violate("queued a push that is \(push.status)") }
        if push.token != intent.token || push.device != DeviceKey(user: intent.user, device: intent.device) {
            violate("queued a push for another device than intended")
        }
        if intent.purpose != push.purpose || intent.expiresAt != push.expiresAt { violate("queued an altered push") }
        if push.purpose == .call, decided.calls[push.call]?.state.isRingingPhase != true {
            violate("queued a push for a call past ringing")
        }
    }

    /// A suspended device gets a push that requires a report only as a due probe.
    func checkProbe(_ push: PushRecord) {
        guard push.status == .sent, decided.pushes[push.id]?.status == .intended, push.purpose == .call,
            push.owesReport, let device = decided.devices[push.device], device.suspendedAt != nil
        else { return }
        coverage.count("push.probe")
        guard let due = device.nextProbeAt, due <= now else { return violate("a probe before its time") }
    }

    func checkTransmission(_ id: PushID) {
        coverage.count("effect.transmit")
        guard let push = decided.pushes[id] else { return violate("transmitted a push that was never intended") }
        if push.status != .sent { violate("transmitted a push that is recorded as \(push.status)") }
        if now >= push.expiresAt { violate("transmitted an expired push") }
        guard let device = decided.devices[push.device] else {
            return violate("transmitted a push to an unknown device")
        }
        if !device.tokens.contains(where: { $0.token == push.token }) {
            violate("transmitted a push to a token that is not its device's")
        }
        if push.owesReport, device.suspendedAt != nil, device.probes == 0 {
            violate("transmitted to a suspended device a push that requires a report")
        }
        guard push.purpose == .call else { return checkTransmission(ofNotice: push) }
        if !push.owesReport {
            coverage.count(device.suspendedAt == nil ? "push.call_alert" : "push.call_alert_suspended")
        }
        switch decided.leg(push.call, push.device)?.state {
        case .idle, .offered, .waking: break
        case .ringing:
            if isAttended(push) { violate("transmitted a push to a device that rings and has a socket") }
        case .answered, .ended, nil: violate("transmitted a push to a device that no longer needs it")
        }
        if decided.calls[push.call]?.state.isRingingPhase != true {
            violate("transmitted a push for a call past ringing")
        }
        if hasSeen(push.call, push.device) { violate("transmitted a push to a device that has seen the call") }
    }

    /// A push that was on disk as sent may have left: it is never sent again.
    func checkRecovery(ofSent pushes: [PushID]) {
        for id in pushes where decided.pushes[id]?.status == .sent || decided.pushes[id]?.status == .intended {
            violate("a push that may have been sent is \(decided.pushes[id]?.status.rawValue ?? "gone") after a start")
        }
    }

    /// A push in flight may start an app, which must then learn that its call is over.
    func checkEnds(toldWith calls: [CallSnapshot], to key: DeviceKey) {
        // A frame may not have room for all calls.
        guard calls.count < 30 else { return }
        for push in decided.pushes.values {
            // Opening the session closes the report as acted.
            let isOwed = push.report == .awaited || push.report == .acted && push.reportedAt == now
            guard push.device == key, push.purpose == .call, isOwed,
                decided.legs(of: push.call).contains(where: { $0.device == key && $0.state == .ended })
            else { continue }
            coverage.count("end.owed")
            guard !calls.contains(where: { $0.call == push.call }),
                !shownEnds.contains(Disk.LegKey(call: push.call, device: key))
            else { continue }
            violate("call \(push.call) was over, and \(key) was not told")
        }
    }
}
