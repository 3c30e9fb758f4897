import CallVocabulary

/// One of everything that goes over the wire.
enum Samples {
    static let call = CallID(high: 0x6BA7_B810_9DAD_41D1, low: 0x80B4_00C0_4FD4_30C8)
    static let otherCall = CallID(high: 0x6BA7_B810_9DAD_41D1, low: 0x80B4_00C0_4FD4_30C9)
    static let push = PushID(high: 0x0102_0304_0506_4708, low: 0x890A_0B0C_0D0E_0F10)
    static let device = DeviceID(high: 0xA102_0304_0506_4708, low: 0x890A_0B0C_0D0E_0F10)
    static let session = SessionID(high: 0xB102_0304_0506_4708, low: 0x890A_0B0C_0D0E_0F10)
    static let callText = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
    static let now = Instant(milliseconds: 1_790_000_000_000)
    static let deadline = Instant(milliseconds: 1_790_000_045_000)

    static let alice = handle("alice")
    static let phone = handle("+81312345678")

    static let sdp = raw(#""v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=\u002d\/\ud83d\ude00ä\r\n""#)
    static let custom = raw(#"{ "room" : [1.50, "\u00e9"],"deep":{"a":{}} }"#)
    static let candidates = [
        raw(#"{"candidate":"candidate:1 1 UDP 2130706431 10.0.0.1 8998 typ host","sdpMid":"0"}"#), raw("null"),
    ]
    static let pushToken = PushToken(
        provider: .apns, kind: .voip, environment: .sandbox, topic: "org.example.phone.voip",
        token: "00fc13adff785122b4ad2880")
    static let profiledToken = PushToken(
        provider: .apns, kind: .voip, environment: .production, topic: "org.example.phone.voip",
        token: "00fc13adff785122b4ad2881", profile: "linphone")

    static let requests: [ClientRequest] =
        [
            .open(SessionOpen(token: "a.b.c", device: DeviceDescription(id: device, platform: .cli))),
            .open(
                SessionOpen(
                    token: "a.b.c",
                    device: DeviceDescription(id: device, platform: .ios, app: "Phone 1.2", name: "\"Ä\"\n"),
                    push: [pushToken, profiledToken],
                    resume: ResumeRequest(session: session, token: "r", lastSeq: .max))),
            .open(SessionOpen(token: "t", device: DeviceDescription(id: device, platform: .web), push: [])),
            .state(.background), .close, .logout, .updateDevice(push: []),
            .updateDevice(push: [pushToken, profiledToken]),
            .report(PushReport(push: push, call: call, result: .notRequired)),
            .report(PushReport(push: push, call: call, result: .failed, error: "CXErrorCodeIncomingCallErrorUnknown")),
            .invite(Invite(call: call, to: .user(alice))),
            .invite(
                Invite(
                    call: call, to: .users([alice, phone]), ringTime: .milliseconds(5000),
                    maxDuration: .seconds(3600), video: true, sdp: sdp,
                    custom: custom)),
            .invite(Invite(call: call, to: .group("sales"), ringTime: .seconds(180), custom: raw("[]"))),
            .ringing(call), .answer(call, sdp: nil), .answer(call, sdp: sdp), .connected(call), .get(call),
            .update(CallUpdate(call: call, kind: .hold)),
            .update(CallUpdate(call: call, kind: .offer, sdp: sdp, custom: custom)),
            .list(after: nil, limit: nil), .list(after: HistoryCursor(before: now), limit: 100),
            .list(after: HistoryCursor(before: now, call: call), limit: 1), .clearMissed(upTo: now),
        ] + DeclineReason.allCases.map { .decline(call, $0) } + HangupReason.allCases.map { .hangup(call, $0) }

    static let notifications: [ClientNotification] = [
        .ack(seq: 0), .ack(seq: .max), .candidates(CallCandidates(call: call, candidates: candidates)),
        .candidates(CallCandidates(call: call, candidates: [], isFinal: true)),
    ]

    static let bare = CallSnapshot(
        call: call, role: .caller, state: .routing, from: alice, to: .user(phone), video: false, createdAt: now)

    static let full: CallSnapshot = {
        var call = CallSnapshot(
            call: otherCall, role: .callee, state: .ended, from: phone, fromName: "Bob \"B\" Ä",
            to: .users([alice, phone]), video: true, createdAt: now)
        call.toCount = 950
        call.expiresAt = deadline
        call.answeredAt = now
        call.connectedAt = now + .seconds(1)
        call.endedAt = now + .seconds(2)
        call.lostAt = now + .seconds(1)
        call.reason = .answeredElsewhere
        call.by = Party(user: alice, device: device)
        call.isOwnAct = true
        call.sdp = sdp
        call.custom = custom
        call.push = push
        call.mergedInto = Samples.call
        return call
    }()

    /// Answered by somebody on no device in particular.
    static let answered: CallSnapshot = {
        var call = bare
        call.state = .answered
        call.by = Party(user: phone)
        call.peerAwaySince = now
        return call
    }()

    static let iceServers = [
        ICEServer(
            urls: ["turn:turn.example.com:3478", "turns:turn.example.com?transport=tcp"],
            username: "1767225645:alice", credential: "c2VjcmV0", expiresAt: deadline)
    ]

    static let replies: [Reply] =
        [
            .done, .won, .invited(call, .waking, expiresAt: deadline), .call(bare), .call(full), .call(answered),
            .calls([], next: nil), .calls([bare, full, answered], next: HistoryCursor(before: now, call: call)),
            .opened(
                SessionOpened(
                    session: session, user: alice, resumeToken: "r", resumeWindow: .seconds(30), resumed: true,
                    calls: [full, bare, answered],
                    missed: [
                        MissedCall(call: otherCall, from: phone, at: now, reason: .busy, video: false),
                        MissedCall(
                            call: call, from: phone, fromName: "Bob", at: now, reason: .ringTimeout, video: true),
                    ],
                    iceServers: iceServers,
                    webPushKey:
                        "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs")),
            .opened(
                SessionOpened(
                    session: session, user: alice, resumeToken: "r", resumeWindow: .zero, resumed: false, calls: [],
                    missed: [])),
        ] + EndReason.allCases.map { .inviteEnded(call, $0) } + EndReason.allCases.map { .callState(.ended, $0) }
        + CallState.allCases.map { .callState($0, nil) }

    static let incoming = IncomingCall(
        call: call, from: phone, fromName: "Bob \"B\" Ä", to: .group("sales"), video: true, sdp: sdp,
        candidates: candidates, custom: custom, expiresAt: deadline, push: push)

    static let events: [ServerEvent] =
        [
            .incoming(incoming),
            .incoming(
                IncomingCall(
                    call: call, from: alice, fromName: nil, to: .user(phone), video: false, sdp: nil, candidates: [],
                    custom: nil, expiresAt: deadline, push: nil)),
            .state(CallStateChange(call: call, state: .waking, at: now, waking: 2, ringing: 0, expiresAt: deadline)),
            .state(
                CallStateChange(
                    call: call, state: .answered, at: now, by: Party(user: alice, device: device), sdp: sdp, waking: 0,
                    ringing: 1, isPolite: false)),
            .state(
                CallStateChange(
                    call: call, state: .connected, at: now, by: Party(user: alice), waking: 0, ringing: 0,
                    isPolite: true)),
            .ended(
                CallEnded(
                    call: call, reason: .hangup, by: Party(user: alice, device: device), at: now, isOwnAct: false)),
            .candidates(CallCandidates(call: call, candidates: candidates, isFinal: true)),
            .candidates(CallCandidates(call: call, candidates: [])),
            .update(CallUpdate(call: call, kind: .mute)),
            .update(CallUpdate(call: call, kind: .answer, sdp: sdp, custom: custom)),
            .peer(PeerChange(call: call, presence: .away(until: deadline), at: now, by: Party(user: alice))),
            .peer(PeerChange(call: call, presence: .back, at: now, by: Party(user: alice, device: device))),
            .draining(deadline: .seconds(10)),
        ]
        + EndReason.allCases.flatMap { reason -> [ServerEvent] in
            [
                .ended(CallEnded(call: call, reason: reason, by: Party(user: alice), at: now, isOwnAct: true)),
                .ended(
                    CallEnded(call: call, reason: reason, by: nil, at: now, isOwnAct: false, mergedInto: otherCall)),
            ]
        }

    static let errors: [SignalError.Code] =
        [
            .parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError, .unauthenticated, .forbidden,
            .notFound, .alreadyAnswered(by: Party(user: alice)),
            .alreadyAnswered(by: Party(user: alice, device: device)),
            .badState(nil), .rateLimited(retryAfter: .milliseconds(1500)), .tooLarge(limit: 65_536), .conflict,
            .limitReached(limit: 0), .overloaded(retryAfter: .zero), .draining,
        ] + EndReason.allCases.map { .callEnded($0) } + CallState.allCases.map { .badState($0) }

    static let welcome = Welcome(
        protocolVersion: 1, server: "reveille", version: "1.0.0", node: "n1", time: now, pingInterval: .seconds(20),
        maxFrameBytes: 65_536, features: ["resume", "groups"])

    static func raw(_ text: String) -> RawJSON { RawJSON(bytes: Array(text.utf8)) }

    static func handle(_ text: String) -> Handle {
        guard let handle = Handle(text) else { preconditionFailure("\(text) is no handle") }
        return handle
    }
}
