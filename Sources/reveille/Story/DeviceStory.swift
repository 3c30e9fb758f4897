import AdminProtocol
import CallVocabulary
import PushCore
import PushVocabulary

/// What happened to a call on one device, in words.
struct DeviceStory {
    let leg: LegView
    /// The push that was to wake the device.
    let push: PushView?
    /// When the call was over, or now.
    let over: Instant
    /// Whether it is the user's only device in this call.
    let isOnlyOne: Bool
    /// Short ids of all devices in the call.
    let ids: ShortIDs

    var rings: Bool { leg.state == "ringing" }

    /// Whether the push or the device failed, whatever the end of the call.
    var isTrouble: Bool {
        switch push?.status {
        case .rejected, .unknown, .expired: true
        case .intended, .sent, .accepted, .cancelled, nil: push?.report == .unreported || push?.report == .reportFailed
        }
    }

    /// Whether the story of an unanswered call mentions the device.
    func isTold(of call: CallView) -> Bool {
        switch call.reason {
        case .ringTimeout, .noDevices, .cancelled, .admin, .connectionLost: true
        case .hangup, .declined, .busy, .connectTimeout, .answeredElsewhere, .declinedElsewhere, .unknownCallee, .glare,
            .iceFailed, .mediaFailed, .forbidden, .maxDuration, nil:
            isTrouble
        }
    }

    private var name: String {
        isOnlyOne
            ? "\(leg.user.text.shown)'s device"
            : "\(leg.user.text.shown)'s device \(ids[leg.deviceID])"
    }

    private var ringing: String? {
        leg.ringingAt.map { "rang for \(Moment.length((leg.endedAt?.instant ?? over) - $0.instant))" }
    }

    /// Without the full stop.
    var words: String {
        guard let push else { return untouched }
        let reason = push.reason.map { " (\($0.shown))" } ?? ""
        switch push.status {
        case .intended: return "the push to \(name) is still queued"
        case .cancelled:
            return ringing.map { "\(name) was online and \($0)" }
                ?? "the push to \(name) was never sent" + (reason.isEmpty ? ": it was not needed any more" : reason)
        case .expired: return "the push to \(name) waited until it was too late, and was never sent\(reason)"
        case .rejected:
            return "the provider refused the push to \(name)\(reason)" + (ringing.map { ", which \($0)" } ?? "")
        case .unknown:
            let rest = push.report == .unreported ? "the device reported nothing" : reported(push)
            return "the provider never answered for the push to \(name)\(reason); \(rest)"
        case .sent, .accepted: return reported(push)
        }
    }

    private var untouched: String {
        if let ringing { return "\(name) \(ringing)" }
        if leg.offeredAt != nil { return "\(name) was told over its socket and never said that it rings" }
        return "\(name) was never told"
    }

    private func reported(_ push: PushView) -> String {
        switch push.report {
        case .unreported:
            return leg.wokenAt != nil
                ? "\(name) was woken but never reported the push"
                : "the provider took the push to \(name), which never woke up and never reported it"
        case .filtered: return "\(name) took the push and showed nothing: Do Not Disturb, or a blocked caller"
        case .reportFailed:
            return "\(name) was woken and could not show the call" + (push.reportError.map { " (\($0.shown))" } ?? "")
        case .awaited: return "\(name) has been sent a push and has not reported it yet"
        case .reported, .reportedLate, .notRequired, .acted, nil:
            let woken = isAlert(push) ? "came online after an alert" : "was woken"
            let late = push.report == .reportedLate ? " and reported the push too late" : ""
            if let ringing { return "\(name) \(woken)\(late) and \(ringing)" }
            if push.report == .notRequired, !isAlert(push) { return notRequired(push) }
            if leg.wokenAt != nil { return "\(name) \(woken)\(late) and never said that it rings" }
            switch push.report {
            case .notRequired: return "\(name) was sent an alert, and nobody opened it"
            case .acted: return "\(name) acted after the push, did not report it and never rang"
            case .reportedLate: return "\(name) reported the push too late and never rang"
            case .reported, .awaited, .filtered, .reportFailed, .unreported, nil:
                return "\(name) reported the push and never rang"
            }
        }
    }

    /// Whether the system shows the push, without the app.
    private func isAlert(_ push: PushView) -> Bool {
        switch push.delivery {
        case .apnsAlert, .fcmAlert: true
        case .apnsVoIP, .apnsBackground, .fcmData, .webPush, nil: false
        }
    }

    /// A push that the app takes itself, and reported as one that its system did not oblige it to show.
    private func notRequired(_ push: PushView) -> String {
        let isOver = push.reportedAt.map { $0.instant >= over } ?? false
        return isOver
            ? "\(name) reported the push after the end of the call, and did not have to show it"
            : "\(name) reported that it did not have to show the call"
    }

    /// The next command to run after a failure.
    var advice: String? {
        guard let push else { return nil }
        let look =
            "reveille devices show \(leg.user.text.shown) \(ids[leg.deviceID])"
        if push.status == .rejected, let reason = push.reason {
            let diagnosis = PushDiagnosis(.rejected(reason: reason, isTokenDead: false), delivery: push.delivery)
            let id = ShortIDs.text(push.pushID)
            return "\(diagnosis.meaning.shown) What to do: reveille pushes show \(id)."
        }
        if push.report == .unreported, push.delivery?.countsUnreported != false {
            return "A device that leaves pushes unreported gets VoIP pushes only rarely: \(look)."
        }
        return nil
    }
}
