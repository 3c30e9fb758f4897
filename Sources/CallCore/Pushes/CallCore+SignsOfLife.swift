import CallVocabulary

/// Updates pushes by signs of life: actions of a device prove that its app ran.
///
/// Any request, over a session or with a token of the device over HTTP, acknowledgement or relayed message proves that
/// the app runs, and restores the device's health. So does a report, of an alert too, unless its result is `failed`. A
/// half-open socket brings none of them. An act closes sent and unreported pushes as follows:
///
/// | act | closes as `acted` |
/// |---|---|
/// | a session is opened or resumed with a user's token | every push of the device whose report is awaited |
/// | a wake token is used: session, or HTTP | the push of that call; the token has proved its delivery, too |
/// | a request or candidates about a call | the push of that call |
/// | anything else | none |
///
/// A call's own push is closed even after its report deadline. A push still being committed as sent has not left the
/// process, so no act can result from it.
extension CallCore {
    /// The app runs, whatever it did.
    func noteLife(of device: Device) {
        noteSeen(device)
        if restoreHealth(of: device) { persist(device) }
    }

    /// As ``noteLife(of:)``, except for a report: its result decides.
    func noteLife(of device: Device, by command: ClientRequest) {
        if case .call(.report) = command { return }
        noteLife(of: device)
    }

    /// A request over HTTP has shown a good token of the device: its app runs, whatever becomes of the request. The time of
    /// a wake token is known with its call only, and matters where tokens were revoked.
    func noteLife(of named: DeviceID?, _ grant: SessionGrant) {
        guard let device = named.flatMap({ directory.user(grant.user)?.device($0) }),
            grant.scope == .full || device.user.revokedBefore == nil
        else { return }
        noteLife(of: device)
    }

    func noteAct(on leg: Leg, by command: CallRequest, in session: Session) {
        if case .report = command { return }
        noteAct(on: leg, byWakeToken: session.scope != .full)
    }

    /// The device has opened or resumed a session: its app runs, and has its list of live calls.
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

    /// The device has acted in this call, other than by a report.
    func noteAct(on leg: Leg, byWakeToken: Bool) {
        guard let push = leg.push, push.isOut, push.record.owesReport else { return }
        switch push.record.report {
        case .awaited, .unreported:
            cancel(push.reportDeadline)
            push.reportDeadline = nil
            change(push) { $0.act(byWakeToken: byWakeToken, at: now) }
        case .acted:
            guard byWakeToken, !push.hasWoken else { return }
            change(push) { $0.act(byWakeToken: true, at: now) }
        case nil, .reported, .notRequired, .filtered, .reportFailed, .reportedLate: return
        }
        if push.isDelivered { confirmToken(of: push) }
    }

    /// The push arrived, so its token was valid when it was sent: a provider's verdict about an earlier time is
    /// outdated. Changes memory only; the device's next record contains it.
    func confirmToken(of push: Push) {
        if let sentAt = push.record.sentAt { push.leg.device.confirm(push.record.token, at: sentAt) }
    }
}

extension CallRequest {
    /// The app ran, and could not show the call, which the system counts against it.
    var isFailedReport: Bool { if case .report(let report) = self { report.result == .failed } else { false } }
}
