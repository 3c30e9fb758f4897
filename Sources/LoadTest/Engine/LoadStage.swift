/// A latency that is recorded, in the order of reports, which is the order in which a call reaches them.
public enum LoadStage: String, CaseIterable, Sendable {
    case inviteResult = "invite_result"
    case inviteRefused = "invite_refused"
    case invitePushAccepted = "invite_push_accepted"
    case invitePush = "invite_push"
    case pushReported = "push_reported"
    case inviteIncoming = "invite_incoming"
    case firstRing = "first_ring"
    case lastTold = "last_told"
    case lastPushAccepted = "last_push_accepted"
    case lastRing = "last_ring"
    case lastOnline = "last_online"
    case inviteRinging = "invite_ringing"
    case inviteAnswered = "invite_answered"
    case answerAnswered = "answer_answered"
    case answerConnected = "answer_connected"
    case answerTold = "answer_told"
    case othersTold = "others_told"
    case hangupEnded = "hangup_ended"
    case open, resume, message

    /// Stable, for programs.
    public var key: String { rawValue }

    /// Start and end, short enough for a column.
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
        case .inviteResult, .inviteRefused, .invitePushAccepted, .invitePush, .pushReported, .inviteIncoming,
            .inviteRinging, .inviteAnswered, .answerAnswered, .answerConnected, .answerTold, .hangupEnded:
            key.split(separator: "_", maxSplits: 1).joined(separator: " → ").replacing("_", with: " ")
        }
    }

    public var definition: String {
        switch self {
        case .inviteResult: "call due to call.invite answered: the call is on disk"
        case .inviteRefused: "call due to its refusal as overloaded"
        case .invitePushAccepted:
            "call due to its push accepted by the provider, which sends it on to the phone at once; by the simulator's "
                + "wall clock"
        case .invitePush: "call due to its push read by the phone"
        case .pushReported:
            "push read by the phone to push.report answered: connection, upgrade, session.open and report"
        case .inviteIncoming:
            "call due to the callee's session announcing it, by call.incoming or in the calls of a new session"
        case .firstRing: "call due to the first device showing it, by call.incoming or by its push"
        case .lastTold:
            "call due to its frame at the socket of the last device, by the kernel's clock (mostly in ticks of 4 ms); "
                + "excludes the wait until the load generator reads it"
        case .lastPushAccepted: "call due to the last of its pushes accepted by the provider"
        case .lastRing: "call due to the last device showing it, by call.incoming or by its push"
        case .lastOnline: "call due to the last woken device learning of it in its new session"
        case .inviteRinging: "call due to ringing at the caller"
        case .inviteAnswered: "call due to answered at the caller"
        case .answerAnswered: "call.answer sent by the callee to answered at the caller"
        case .answerConnected: "call.answer sent by the callee to connected at both sides"
        case .answerTold: "call.answer sent to the end of the call at each other device"
        case .othersTold: "call.answer sent to the end of the call at the last other device"
        case .hangupEnded: "call.hangup sent by the caller to the end at both sides"
        case .open: "session due to session.open answered: connection, upgrade and opening"
        case .resume: "cut due to session.open of the reconnect answered: connection, upgrade and resume"
        case .message: "candidate or session description due to its arrival at the other side"
        }
    }
}
