import CallVocabulary

/// The messages of a complete call between two online phones.
struct CallFrames {
    static let call = CallID(high: 0x6BA7_B810_9DAD_41D1, low: 0x80B4_00C0_4FD4_30C8)
    static let now = Instant(milliseconds: 1_790_000_000_000)
    private static let push = PushID(high: 0x0102_0304_0506_4708, low: 0x890A_0B0C_0D0E_0F10)
    private static let device = DeviceID(high: 0xA102_0304_0506_4708, low: 0x890A_0B0C_0D0E_0F10)
    // Valid handles: not empty, without white space.
    private static let (alice, bob) = (Handle("+14155550100")!, Handle("bob")!)

    /// The size in bytes of the invite for the scan figure.
    static let inviteCount = 740

    /// The clients' messages from the invite to the end, in order.
    static let fromClients: [ClientMessage] =
        [
            invite, .notification(.candidates(batch)), .request(.number(1), .ringing(call)),
            .notification(.ack(seq: 1)), .request(.number(2), .answer(call, sdp: sdp(padding: 0))),
            .notification(.candidates(batch)), .request(.number(3), .connected(call)),
            .request(.number(2), .connected(call)), .request(.number(3), .update(update)),
            .request(.number(4), .hangup(call, .hangup)), .notification(.ack(seq: 7)),
        ]

    /// The server's messages to both clients, in order.
    static let fromServer: [ServerMessage] =
        [
            .reply(.number(1), .invited(call, .ringing, expiresAt: now + .seconds(45))), .event(seq: 1, incoming),
            .event(seq: 2, .candidates(batch)), .reply(.number(1), .done), .event(seq: 1, state(.ringing)),
            .reply(.number(2), .won), .event(seq: 2, state(.answered, sdp: sdp(padding: 0))),
            .event(seq: 3, .candidates(batch)), .reply(.number(3), .done), .reply(.number(2), .done),
            .event(seq: 4, state(.connected)), .event(seq: 3, state(.connected)), .event(seq: 4, .update(update)),
            .reply(.number(3), .done), .reply(.number(4), .callState(.ended, .hangup)),
            .event(seq: 5, ended(isOwnAct: false)), .event(seq: 5, ended(isOwnAct: true)),
        ]

    static let incoming = ServerEvent.incoming(
        IncomingCall(
            call: call, from: alice, fromName: "Alice", to: .user(bob), video: false, sdp: sdp(padding: 0),
            candidates: [], custom: nil, expiresAt: now + .seconds(45), push: push))

    static let batch = CallCandidates(
        call: call,
        candidates: [
            raw(
                """
                {"candidate":"candidate:842163049 1 udp 1677729535 203.0.113.7 46154 typ srflx raddr 10.0.0.17 rport \
                46154 generation 0 ufrag 4ZcD","sdpMid":"0","sdpMLineIndex":0}
                """)
        ])

    static let update = CallUpdate(call: call, kind: .offer, sdp: sdp(padding: 0))

    /// The invite before it is padded to its size.
    static func invite(padding: Int) -> ClientMessage {
        .request(.number(1), .invite(Invite(call: call, to: .user(bob), sdp: sdp(padding: padding))))
    }

    private static let invite = invite(padding: 0)

    private static func state(_ state: CallState, sdp: RawJSON? = nil) -> ServerEvent {
        .state(
            CallStateChange(
                call: call, state: state, at: now, by: Party(user: bob, device: device), sdp: sdp, waking: 0,
                ringing: state == .ringing ? 1 : 0, expiresAt: state == .connected ? nil : now + .seconds(20)))
    }

    private static func ended(isOwnAct: Bool) -> ServerEvent {
        .ended(
            CallEnded(
                call: call, reason: .hangup, by: Party(user: alice, device: device), at: now, isOwnAct: isOwnAct))
    }

    /// A browser's offer of one audio stream, with a line of `padding` bytes.
    private static func sdp(padding: Int) -> RawJSON {
        var lines = [
            "v=0", "o=- 4611731400430051336 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0",
            "m=audio 9 UDP/TLS/RTP/SAVPF 111 0 8", "c=IN IP4 0.0.0.0", "a=rtcp-mux", "a=mid:0", "a=sendrecv",
            "a=ice-ufrag:4ZcD", "a=ice-pwd:2/1muCWoOi3uLifh0NuRHlpE", "a=setup:actpass",
            "a=fingerprint:sha-256 6B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35:DC:B8:5F:64:1A:24:C2:43:F0:A1:58:D0",
            "a=rtpmap:111 opus/48000/2", "a=fmtp:111 minptime=10;useinbandfec=1",
        ]
        if padding > 0 { lines.append(String(repeating: "x", count: padding)) }
        return raw("\"" + lines.map { $0 + "\\r\\n" }.joined() + "\"")
    }

    private static func raw(_ text: String) -> RawJSON { RawJSON(bytes: Array(text.utf8)) }
}
