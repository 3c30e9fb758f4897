import CallCore
import CallVocabulary

/// What must hold of a push for a call: queued as it was intended, and sent only while it can still make the device ring.
extension Inspector {
    func check(_ order: PushOrder) {
        guard let push = decided.pushes[order.id] else { return violate("queued a push that nobody intended") }
        if push.status != .intended { violate("queued a push that is \(push.status)") }
        if push.token != order.token || push.device != DeviceKey(user: order.user, device: order.device) {
            violate("queued a push for another device than intended")
        }
        if order.purpose != push.purpose || order.expiresAt != push.expiresAt { violate("queued another push") }
        if push.purpose == .call, decided.calls[push.call]?.state.isRingingPhase != true {
            violate("queued a push for a call past ringing")
        }
    }

    func checkTransmission(_ id: PushID) {
        coverage.count("effect.transmit")
        guard let push = decided.pushes[id] else { return violate("transmitted a push that was never intended") }
        if push.status != .sent { violate("transmitted a push that is recorded as \(push.status)") }
        if now >= push.expiresAt { violate("transmitted a push after its time") }
        guard let device = decided.devices[push.device] else {
            return violate("transmitted a push to an unknown device")
        }
        if !device.tokens.contains(where: { $0.token == push.token }) {
            violate("transmitted a push to a token that is not its device's")
        }
        if push.owesReport, device.suspendedAt != nil {
            violate("transmitted a push that is to be reported to a suspended device")
        }
        guard push.purpose == .call else { return checkTransmission(ofNotice: push) }
        if !push.owesReport {
            coverage.count(device.suspendedAt == nil ? "push.call_alert" : "push.call_alert_suspended")
        }
        switch decided.leg(push.call, push.device)?.state {
        case .idle, .offered, .waking: break
        case .ringing, .answered, .ended, nil: violate("transmitted a push to a device that needs none any more")
        }
        if decided.calls[push.call]?.state.isRingingPhase != true {
            violate("transmitted a push for a call past ringing")
        }
        if hasSeen(push.call, push.device) { violate("transmitted a push to a device that has seen the call") }
    }
}
