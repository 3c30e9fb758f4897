/// A step that is timed. In the order in which a call comes to them, which is that of reports.
public enum LoadStage: Int, CaseIterable, Sendable {
    case inviteResult, invitePushAccepted, invitePush, pushReported, inviteIncoming
    case firstRing, lastTold, lastPushAccepted, lastRing, lastOnline
    case inviteRinging, inviteAnswered, answerAnswered, answerConnected, answerTold, othersTold, hangupEnded
    case open, resume, message

    /// Stable, for programs.
    public var key: String {
        switch self {
        case .inviteResult: "invite_result"
        case .invitePushAccepted: "invite_push_accepted"
        case .invitePush: "invite_push"
        case .pushReported: "push_reported"
        case .inviteIncoming: "invite_incoming"
        case .inviteRinging: "invite_ringing"
        case .inviteAnswered: "invite_answered"
        case .answerAnswered: "answer_answered"
        case .answerConnected: "answer_connected"
        case .hangupEnded: "hangup_ended"
        case .firstRing: "first_ring"
        case .lastTold: "last_told"
        case .lastRing: "last_ring"
        case .lastPushAccepted: "last_push_accepted"
        case .lastOnline: "last_online"
        case .answerTold: "answer_told"
        case .othersTold: "others_told"
        case .open: "open"
        case .resume: "resume"
        case .message: "message"
        }
    }

    /// From what to what, in a few words for a column.
    public var name: String {
        switch self {
        case .firstRing: "invite → first ring"
        case .lastTold: "invite → last told"
        case .lastRing: "invite → last ring"
        case .lastPushAccepted: "invite → last push accepted"
        case .lastOnline: "invite → last online"
        case .othersTold: "answer → others told"
        case .open: "due → session open"
        case .resume: "cut → session resumed"
        case .message: "sent → message there"
        case .inviteResult, .invitePushAccepted, .invitePush, .pushReported, .inviteIncoming, .inviteRinging,
            .inviteAnswered, .answerAnswered, .answerConnected, .answerTold, .hangupEnded:
            key.split(separator: "_", maxSplits: 1).joined(separator: " → ").replacing("_", with: " ")
        }
    }

    /// From what to what.
    public var definition: String {
        switch self {
        case .inviteResult: "the call was due to its call.invite answered: the call is on disk"
        case .invitePushAccepted:
            "the call was due to its push accepted by the provider, which answers it and sends it on to the phone in one "
                + "step: the simulator's own time of that step, by the wall clock"
        case .invitePush: "the call was due to its push read by the phone"
        case .pushReported:
            "the push was read by the phone to its push.report answered: connection, upgrade, opening and report"
        case .inviteIncoming:
            "the call was due to the callee's session telling of it: call.incoming, or the live calls of a new session"
        case .inviteRinging: "the call was due to ringing at the caller"
        case .inviteAnswered: "the call was due to answered at the caller"
        case .answerAnswered: "call.answer sent by the callee to answered at the caller"
        case .answerConnected: "call.answer sent by the callee to connected at both sides"
        case .hangupEnded: "call.hangup sent by the caller to the end at both sides"
        case .firstRing: "the call was due to the first device that shows it: by call.incoming, or by its push"
        case .lastTold:
            "the call was due to its frame having come to the socket of the last device, by the kernel's clock and to one "
                + "of its ticks (4 ms mostly): without the time that it then waits for the load generator to read it"
        case .lastRing: "the call was due to the last device that shows it: by call.incoming, or by its push"
        case .lastPushAccepted: "the call was due to the last of its pushes accepted by the provider"
        case .lastOnline: "the call was due to the last device that was woken told of it by its new session"
        case .answerTold: "call.answer sent to the end at a device that did not win, for each of them"
        case .othersTold: "call.answer sent to the end at the last device that did not win"
        case .open: "the session was due to its session.open answered: connection, upgrade and opening"
        case .resume: "the cut was due to the session.open of its reconnect answered: connection, upgrade and resume"
        case .message: "the candidate or session description was due to its arrival at the other side"
        }
    }
}
