import CallVocabulary
import PushVocabulary
import RecordModel

@testable import CallCore

/// What a device can say to the call machine.
enum DeviceInput: String, CaseIterable {
    // About the call.
    case reported, notRequired, filtered, failed, wrongPush, ringing, answer, declined, busy, dnd, connected, hangup
    case iceFailed, mediaFailed, update, get
    // About itself.
    case inviteAgain, inviteOther, open, foreground, background, close, logout, noTokens, newToken, list, clearMissed
    case ack, ackOfNothing, candidates, lost

    /// Where each request has its place in the table: a new one does not compile before it has one.
    static func place(of request: ClientRequest) -> [DeviceInput] {
        switch request {
        case .open: [.open]
        case .session(.state): [.foreground, .background]
        case .session(.close): [.close]
        case .owner(.logout): [.logout]
        case .owner(.updateDevice): [.noTokens, .newToken]
        case .call(.report): [.reported, .notRequired, .filtered, .failed, .wrongPush]
        case .owner(.invite): [.inviteAgain, .inviteOther]
        case .call(.ringing): [.ringing]
        case .call(.answer): [.answer]
        case .call(.decline): [.declined, .busy, .dnd]
        case .call(.connected): [.connected]
        case .call(.hangup): [.hangup, .iceFailed, .mediaFailed]
        case .call(.update): [.update]
        case .call(.get): [.get]
        case .owner(.list): [.list]
        case .owner(.clearMissed): [.clearMissed]
        }
    }

    static func place(of notification: ClientNotification) -> [DeviceInput] {
        switch notification {
        case .ack: [.ack, .ackOfNothing]
        case .candidates: [.candidates]
        }
    }

    /// What strangers try; the rest has nothing to do with the call.
    static let aboutCall = Array(allCases.prefix { $0 != .open }) + [.candidates]
    static let groups = [
        "reports": ["reported", "notRequired", "filtered", "failed"],
        "declines": ["declined", "busy", "dnd"],
        "hangups": ["hangup", "iceFailed", "mediaFailed"],
        "invites": ["inviteAgain", "inviteOther"],
    ]

    func request(in scene: CallScene, of phone: Phone, call: CallID) -> ClientRequest? {
        let push = scene.world.leg(scene.call, of: phone)?.push ?? scene.world.newPush()
        func report(_ push: PushID, _ result: ReportResult) -> ClientRequest {
            .report(PushReport(push: push, call: call, result: result, error: nil))
        }
        func invite(_ video: Bool) -> ClientRequest {
            // As the call was made, but for `video`.
            let to = scene.world.store.calls[scene.call]?.to ?? .user(scene.phone("B1").user)
            return .invite(Invite(call: call, to: to, video: video, sdp: RawJSON("1"), custom: RawJSON("2")))
        }
        return switch self {
        case .reported: report(push, .reported)
        case .notRequired: report(push, .notRequired)
        case .filtered: report(push, .filtered)
        case .failed: report(push, .failed)
        case .wrongPush: report(PushID(high: 1, low: 1), .reported)
        case .ringing: .ringing(call)
        case .answer: .answer(call, sdp: RawJSON("4"))
        case .declined: .decline(call, .declined)
        case .busy: .decline(call, .busy)
        case .dnd: .decline(call, .dnd)
        case .connected: .connected(call)
        case .hangup: .hangup(call, .hangup)
        case .iceFailed: .hangup(call, .iceFailed)
        case .mediaFailed: .hangup(call, .mediaFailed)
        case .update: .update(CallUpdate(call: call, kind: .hold))
        case .get: .get(call)
        case .inviteAgain: invite(false)
        case .inviteOther: invite(true)
        case .open:
            .open(SessionOpen(token: "", device: DeviceDescription(id: phone.id, platform: .ios)))
        case .foreground: .state(.foreground)
        case .background: .state(.background)
        case .close: .close
        case .logout: .logout
        case .noTokens: .updateDevice(push: [])
        case .newToken: .updateDevice(push: [.voip("new-\(phone.id)")])
        case .list: .list(after: nil, limit: nil)
        case .clearMissed: .clearMissed(upTo: scene.world.now)
        case .ack, .ackOfNothing, .candidates, .lost: nil
        }
    }

    func notification(of phone: Phone, call: CallID) -> ClientNotification? {
        switch self {
        case .ack: .ack(seq: phone.lastSeq)
        case .ackOfNothing: .ack(seq: phone.lastSeq + 1)
        case .candidates: .candidates(CallCandidates(call: call, candidates: [RawJSON("5")]))
        default: nil
        }
    }
}

/// What the push client can say of one push.
enum PushInput: String, CaseIterable {
    case ready, accepted, deadToken, rejected, unknown, returned, unsent

    static func place(of outcome: PushOutcome) -> [PushInput] {
        switch outcome {
        case .accepted: [.accepted]
        case .rejected: [.deadToken, .rejected]
        case .unknown: [.unknown]
        case .returned: [.returned]
        case .unsent: [.unsent]
        }
    }

    /// nil for `pushReady`.
    var outcome: PushOutcome? {
        switch self {
        case .ready: nil
        case .accepted: .accepted
        case .deadToken: .rejected(reason: "Unregistered", isTokenDead: true)
        case .rejected: .rejected(reason: "TooManyRequests", isTokenDead: false)
        case .unknown: .unknown(reason: "timeout")
        case .returned: .returned
        case .unsent: .unsent(reason: "no provider")
        }
    }
}

/// What becomes of a question to the authorization hook.
enum HookInput: String, CaseIterable {
    case allowed, allowedForCarol, refused, failed, unanswered

    static let reason = "No credit."

    /// nil for a time-out.
    func answer(in scene: CallScene) -> AuthorizationAnswer? {
        switch self {
        case .allowed: .allowed(CallPermit())
        case .allowedForCarol: .allowed(CallPermit(to: .user(scene.phone("C1").user)))
        case .refused: .refused(Self.reason)
        case .failed: .failed
        case .unanswered: nil
        }
    }
}

/// What may happen while the authorization hook is asked, besides the inputs of every situation.
enum MeanwhileInput: String, CaseIterable {
    case calleeComes, calleeDeleted, calleeRevoked, callerDeleted, callerDeletedAndBack, callerRevoked, callerDropped
    case otherInvite, calleeInvites, calleeInvitesFirst, switchedOff

    func command(in scene: CallScene) -> AdminCommand? {
        let (caller, callee) = (scene.phone("A1"), scene.phone("B1"))
        return switch self {
        case .calleeDeleted: .deleteDevice(callee.user, callee.id)
        case .calleeRevoked: .revokeTokens(callee.user, before: nil)
        case .callerDeleted, .callerDeletedAndBack: .deleteDevice(caller.user, caller.id)
        case .callerRevoked: .revokeTokens(caller.user, before: nil)
        case .callerDropped: .dropSession(caller.user, caller.id)
        case .calleeComes, .otherInvite, .calleeInvites, .calleeInvitesFirst, .switchedOff: nil
        }
    }
}

/// Who asks by HTTP: a user with or without saying which device, or a wake token.
enum HTTPActor: String, CaseIterable {
    case alice, aliceOnA1, bob, bobOnB1, wakeB1, wakeB2, sam, wakeXForAnother

    static let inputs: [DeviceInput] = [.get, .reported, .ringing, .answer, .declined, .hangup]
}

/// What happens to all: time, restarts, administration, and answers of the store that nobody has asked for.
enum WorldInput: String, CaseIterable {
    case after2s, after15s, after20s, after30s, after45s, after5min
    case restart, restartAndAway
    case doNotDisturb, noCallWaiting, declinePolicy, groupGone, groupChanged, alias
    case found, notFound, searchFailed, draining, tightened

    var time: Duration? {
        switch self {
        case .after2s: .seconds(2)
        case .after15s: .seconds(15)
        case .after20s: .seconds(20)
        case .after30s: .seconds(30)
        case .after45s: .seconds(45)
        case .after5min: .seconds(300)
        default: nil
        }
    }

    var command: AdminCommand? {
        let bob = Handle("bob")!  // A handle of three letters is one.
        return switch self {
        case .doNotDisturb: .setUser(bob, UserPolicyChange(doNotDisturb: true))
        case .noCallWaiting: .setUser(bob, UserPolicyChange(callWaiting: false))
        case .declinePolicy: .setUser(bob, UserPolicyChange(decline: .device))
        case .groupGone: .deleteGroup("desk")
        case .groupChanged: .setGroup(CallGroup(name: "desk", strategy: .all, members: [Handle("sam")!]))
        case .alias: .setAlias(Alias(handle: bob, user: Handle("sam")!))
        default: nil
        }
    }
}

extension CoreInput {
    /// Which part of the table an input of the core belongs to: a new one does not compile before it has a place.
    var tablePart: String {
        switch self {
        case .client(.opened): "the table of sessions"
        case .client(.requested), .client(.notified), .connectionLost: "devices"
        case .push: "pushes"
        case .client(.asked): "HTTP"
        case .client(.tokenShown): "RevocationTests"
        case .client(.backend): "BackendCallTests"
        case .store, .administered, .drainingBegan, .reconfigured: "all"
        case .authorized: "hook"
        case .sessionAuthorized: "SessionAuthorizationTests"
        }
    }
}
