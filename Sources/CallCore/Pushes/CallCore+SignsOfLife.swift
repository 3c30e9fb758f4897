import CallVocabulary

/// What a device does after a push, and what that proves.
///
/// Any request, acknowledgement or relayed message proves that the app runs: its health is good again. A half-open socket
/// brings none of them. What it proves of a push that has left and is not reported:
///
/// | act | closes as `acted` |
/// |---|---|
/// | a session is opened or resumed with a user's token | every push of the device whose report is awaited |
/// | a wake token is used: session, or HTTP | the push of that call; the token has proved its delivery, too |
/// | a request or candidates about a call | the push of that call |
/// | anything else | none |
///
/// A call's own push is closed after its report was given up, too. A push that is only being committed as sent has not
/// left, and no act is its fruit.
extension CallCore {
    /// The app runs, whatever it is about.
    func noteLife(of device: Device) {
        if device.clearHealth() { persist(.device(device.record)) }
    }

    /// As ``noteLife(of:)``, but for a report: that says for itself what it proves.
    func noteLife(of device: Device, by command: ClientRequest) {
        if case .call(.report) = command { return }
        noteLife(of: device)
    }

    func noteAct(on leg: Leg, by command: CallRequest, in session: Session) {
        if case .report = command { return }
        noteAct(on: leg, byWakeToken: session.scope != .full)
    }

    /// The device has opened or resumed a session: it runs, and has just been told of its live calls.
    func noteOpening(of session: Session) {
        let device = session.device
        noteLife(of: device)
        switch session.scope {
        case .call(let id):
            if let leg = calls[id]?.leg(of: device) { noteAct(on: leg, byWakeToken: true) }
        case .full:
            for leg in device.liveLegs where leg.push?.record.report == .awaited {
                noteAct(on: leg, byWakeToken: false)
            }
            for leg in device.endsToTell where leg.push?.record.report == .awaited {
                noteAct(on: leg, byWakeToken: false)
            }
        }
    }

    /// The device has done something in this call, other than to report its push.
    func noteAct(on leg: Leg, byWakeToken: Bool) {
        guard let push = leg.push, push.isOut, push.record.owesReport else { return }
        switch push.record.report {
        case .awaited, .unreported:
            cancel(&push.reportDeadline)
            change(push) { $0.act(byWakeToken: byWakeToken, at: now) }
        case .acted:
            guard byWakeToken, !push.hasWoken else { return }
            change(push) { $0.act(byWakeToken: true, at: now) }
        case nil, .reported, .notRequired, .filtered, .reportFailed, .reportedLate: return
        }
        if push.isDelivered { confirmToken(of: push) }
    }

    /// The push arrived, so its token was good when it left: a provider's word that it died before that is out of date. In
    /// memory only; the device's next record carries it.
    func confirmToken(of push: Push) {
        if let sentAt = push.record.sentAt { push.leg.device.confirm(push.record.token, at: sentAt) }
    }
}
