import CallVocabulary
import Testing

@testable import SoftphoneSession

@Suite struct CallTests {
    typealias H = SessionHarness
    static let call = H.call(1)

    static func push(_ call: CallID, expiresAt: Instant) -> CallPush {
        CallPush(call: call, push: PushID(high: 3, low: 3), from: H.bob, video: true, expiresAt: expiresAt)
    }

    // MARK: Callee

    @Test("an incoming call rings by itself, is answered, connected and ended")
    func calleeToTheEnd() throws {
        var harness = H.online()
        let incoming = harness.event(1, .incoming(H.incoming(Self.call, at: harness.serverNow)))
        #expect(incoming.incomingCalls.map(\.peer) == ["bob"])
        #expect(incoming.requests == [.ringing(Self.call)])
        _ = harness.receive(.reply(try #require(incoming.lastRequestID), .callState(.ringing, nil)))
        let answer = harness.command(.answer(Self.call, sdp: RawJSON.text("a")), ticket: 1)
        #expect(answer.requests == [.answer(Self.call, sdp: RawJSON.text("a"))])
        let won = harness.receive(.reply(try #require(answer.lastRequestID), .won))
        #expect(won.outcome(1) == .success(.won))
        #expect(won.states == [.answered])
        let change = CallStateChange(
            call: Self.call, state: .connected, at: harness.serverNow, waking: 0, ringing: 0)
        #expect(harness.event(2, .state(change)).states == [.connected])
        #expect(harness.session.liveCalls.first?.connectedAt == harness.serverNow)
        let ended = harness.event(3, H.ended(Self.call, .hangup))
        #expect(ended.endedCalls.map(\.callKitReason) == ["remoteEnded"])
        #expect(harness.session.liveCalls.isEmpty)
    }

    @Test("an answer that came second ends the call here as answered elsewhere, once")
    func answeredElsewhere() throws {
        var harness = H.ringing(Self.call)
        let id = try #require(harness.command(.answer(Self.call, sdp: nil), ticket: 1).lastRequestID)
        let winner = Party(user: H.alice, device: DeviceID(high: 7, low: 7))
        let error = SignalError(.alreadyAnswered(by: winner), "late")
        let effects = harness.receive(.error(id, error))
        #expect(effects.outcome(1) == .failure(.refused(error)))
        #expect(effects.endedCalls.map(\.reason) == [.answeredElsewhere])
        #expect(effects.endedCalls.map(\.by) == [winner])
        #expect(harness.event(2, H.ended(Self.call, .answeredElsewhere)).events.isEmpty)
    }

    @Test("a repeated answer that this device has won already has won")
    func ownAnswerAgain() throws {
        var harness = H.ringing(Self.call)
        let id = try #require(harness.command(.answer(Self.call, sdp: nil), ticket: 1).lastRequestID)
        let own = Party(user: H.alice, device: H.device)
        let effects = harness.receive(.error(id, SignalError(.alreadyAnswered(by: own), "again")))
        #expect(effects.outcome(1) == .success(.won))
        #expect(harness.session.liveCalls.map(\.state) == [.answered])
    }

    @Test("a call ends once, by the reply or by the event, whichever comes first", arguments: [true, false])
    func endsOnce(replyFirst: Bool) throws {
        var harness = H.ringing(Self.call)
        let id = try #require(harness.command(.decline(Self.call, .declined), ticket: 1).lastRequestID)
        let reply = ServerMessage.reply(id, .callState(.ended, .declined))
        let event = ServerMessage.event(seq: 2, H.ended(Self.call, .declined, isOwnAct: true))
        let effects = harness.receive(replyFirst ? reply : event) + harness.receive(replyFirst ? event : reply)
        #expect(effects.endedCalls.count == 1)
        #expect(effects.endedCalls.map(\.isOwnAct) == [true])
        #expect(effects.endedCalls.map(\.callKitReason) == [nil])
        #expect(effects.outcome(1) == .success(.callState(.ended, .declined)))
    }

    // MARK: Caller

    @Test("a call that ends at once tells its reason and its end")
    func inviteEndsAtOnce() throws {
        var harness = H.online()
        let invite = Invite(call: Self.call, to: .user(H.bob))
        let effects = try harness.command(.invite(invite), ticket: 1, answeredBy: .inviteEnded(Self.call, .noDevices))
        #expect(effects.outcome(1) == .success(.inviteEnded(Self.call, .noDevices)))
        #expect(effects.endedCalls.map(\.reason) == [.noDevices])
        #expect(harness.event(1, H.ended(Self.call, .noDevices)).events.isEmpty)
    }

    @Test("a refused invite leaves no call, and the same id may be tried again")
    func refusedInvite() throws {
        var harness = H.online()
        let invite = Invite(call: Self.call, to: .user(H.bob))
        let id = try #require(harness.command(.invite(invite), ticket: 1).lastRequestID)
        let error = SignalError(.overloaded(retryAfter: .seconds(1)), "busy")
        let effects = harness.receive(.error(id, error))
        #expect(effects == [.complete(1, .failure(.refused(error)))])
        #expect(harness.session.liveCalls.isEmpty)
        #expect(harness.command(.invite(invite), ticket: 2).requests == [.invite(invite)])
        #expect(harness.session.liveCalls.map(\.id) == [Self.call])
    }

    @Test("the caller sees who is being woken, who rings, who answered, and the answer's description")
    func callerSeesProgress() {
        var harness = H.online()
        _ = harness.command(.invite(Invite(call: Self.call, to: .group("sales"))))
        var change = CallStateChange(call: Self.call, state: .waking, at: harness.serverNow, waking: 2, ringing: 0)
        _ = harness.event(1, .state(change))
        #expect(harness.session.liveCalls.map(\.waking) == [2])
        change.state = .answered
        change.by = Party(user: H.bob)
        change.sdp = RawJSON.text("answer")
        _ = harness.event(2, .state(change))
        let call = harness.session.liveCalls[0]
        #expect(call.sdp == RawJSON.text("answer"))
        #expect(call.by?.user == H.bob)
        #expect(call.answeredAt == harness.serverNow)
        #expect(call.peer == "sales")
    }

    /// What the server may tell of a call that rings, one thing at a time.
    enum News: CaseIterable { case waking, ringing, deadline, party, description }

    @Test("each thing that is new to the caller is told, once", arguments: News.allCases)
    func news(_ news: News) {
        var harness = H.online()
        _ = harness.command(.invite(Invite(call: Self.call, to: .user(H.bob))))
        var change = CallStateChange(call: Self.call, state: .ringing, at: harness.serverNow, waking: 1, ringing: 1)
        #expect(harness.event(1, .state(change)).events.count == 1)
        #expect(harness.event(2, .state(change)).events.isEmpty)
        switch news {
        case .waking: change.waking = 0
        case .ringing: change.ringing = 2
        case .deadline: change.expiresAt = harness.serverNow + .seconds(7)
        case .party: change.by = Party(user: H.bob)
        case .description: change.sdp = RawJSON.text("early")
        }
        let told = harness.event(3, .state(change)).events
        #expect(told == harness.session.liveCalls.map(SoftphoneEvent.state))
        #expect(harness.event(4, .state(change)).events.isEmpty)
    }

    @Test("the ring deadline that comes with the invite's result is told")
    func deadlineOfInvite() throws {
        var harness = H.online()
        let invite = Invite(call: Self.call, to: .user(H.bob))
        let id = try #require(harness.command(.invite(invite)).lastRequestID)
        let deadline = harness.serverNow + .seconds(45)
        let effects = harness.receive(.reply(id, .invited(Self.call, .routing, expiresAt: deadline)))
        #expect(harness.session.liveCalls.map(\.expiresAt) == [deadline])
        #expect(effects.events == harness.session.liveCalls.map(SoftphoneEvent.state))
    }

    // MARK: Pushes

    @Test("a push announces the call at once and wakes the phone; the socket brings the rest without a second ring")
    func pushThenSocket() {
        var harness = H { $0.automaticReport = .reported }
        let push = Self.push(Self.call, expiresAt: harness.serverNow + .seconds(45))
        let told = harness.give(.pushReceived(push))
        #expect(told.incomingCalls.map(\.id) == [Self.call])
        #expect(told.contains(.fetchToken(attempt: 1)))
        _ = harness.reachOpening()
        let opened = harness.answerOpen(harness.opened(calls: [H.snapshot(Self.call, .callee, .ringing)]))
        #expect(
            opened.requests == [
                .report(PushReport(push: push.push, call: Self.call, result: .reported)), .ringing(Self.call),
            ])
        let sdp = RawJSON.text("offer")
        let offer = harness.event(1, .incoming(H.incoming(Self.call, at: harness.serverNow, sdp: sdp)))
        #expect(offer.incomingCalls.isEmpty)
        #expect(offer.requests.isEmpty)
        guard case .offer(let call)? = offer.events.first else {
            Issue.record("no offer in \(offer.events)")
            return
        }
        #expect(call.sdp == sdp)
        #expect(call.push == push.push)
    }

    @Test("an answer by id, before the session is open and before any offer, is sent as soon as it opens")
    func answerBeforeOffer() throws {
        var harness = H { $0.automaticRinging = false }
        _ = harness.give(.pushReceived(Self.push(Self.call, expiresAt: harness.serverNow + .seconds(45))))
        #expect(harness.command(.answer(Self.call, sdp: nil), ticket: 1).isEmpty)
        _ = harness.reachOpening()
        let opened = harness.answerOpen(harness.opened(calls: [H.snapshot(Self.call, .callee, .waking)]))
        #expect(opened.requests == [.answer(Self.call, sdp: nil)])
        let won = harness.receive(.reply(try #require(opened.lastRequestID), .won))
        #expect(won.outcome(1) == .success(.won))
        let late = harness.event(1, .incoming(H.incoming(Self.call, at: harness.serverNow)))
        #expect(late.incomingCalls.isEmpty)
        #expect(harness.session.liveCalls.map(\.state) == [.answered], "a late offer does not ring again")
    }

    @Test("a push after the socket has told of the call does not ring again, and is reported")
    func pushAfterSocket() {
        var harness = H.ringing(Self.call) { $0.automaticReport = .notRequired }
        let push = Self.push(Self.call, expiresAt: harness.serverNow)
        let effects = harness.give(.pushReceived(push))
        #expect(effects.incomingCalls.isEmpty)
        #expect(effects.requests == [.report(PushReport(push: push.push, call: Self.call, result: .notRequired))])
        #expect(harness.session.liveCalls.count == 1)
    }

    @Test("a push for a call that is over is told as such: it has to be reported, and must not ring")
    func latePush() {
        var harness = H.ringing(Self.call) { $0.automaticReport = .reported }
        _ = harness.event(2, H.ended(Self.call, .cancelled))
        let push = Self.push(Self.call, expiresAt: harness.serverNow)
        let effects = harness.give(.pushReceived(push))
        #expect(effects.events == [.latePush(push, .cancelled)])
        #expect(effects.requests.count == 1)
        #expect(harness.session.liveCalls.isEmpty)
    }

    @Test("the fields of an FCM message are read as a push")
    func pushFields() {
        let fields = [
            "uuid": "0000000A-0000-4000-8000-00000000000B", "push_id": "00000000-0000-4000-8000-000000000001",
            "handle": "bob", "name": "Bob", "has_video": "true", "expires_at": "1234", "wake_token": "w",
        ]
        let push = CallPush(fields: fields)
        #expect(push?.call == CallID("0000000a-0000-4000-8000-00000000000b"))
        #expect(push?.from == H.bob)
        #expect(push?.video == true)
        #expect(push?.expiresAt == Instant(milliseconds: 1234))
        for missing in ["uuid", "push_id", "handle", "expires_at"] {
            #expect(CallPush(fields: fields.filter { $0.key != missing }) == nil)
        }
        for time in [
            "-1", "-9223372036854775808", "9223372036854775807", "18446744073709551615", "99999999999999999999",
            "253402300800000", "1e400", "+5", " 5", "5 5", "",
        ] {
            #expect(CallPush(fields: fields.merging(["expires_at": time]) { $1 }) == nil, "\(time)")
        }
        let latest = CallPush(fields: fields.merging(["expires_at": "253402300799999"]) { $1 })
        #expect(latest?.expiresAt == .latest)
    }

    @Test("a push may end at any time that an app reads", arguments: [.min, -1, 0, .max] as [Int64])
    func pushTimes(_ milliseconds: Int64) {
        var harness = H.online()
        let push = Self.push(Self.call, expiresAt: Instant(milliseconds: milliseconds))
        let events = harness.give(.pushReceived(push)).events
        if milliseconds > 0 {
            #expect(harness.session.liveCalls.map(\.id) == [Self.call])
        } else {
            #expect(events == [.latePush(push, .ringTimeout)])
        }
        _ = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: ""))
        _ = harness.advance(.seconds(120))
        #expect(harness.session.nextDeadline != nil)
    }

    /// Frames of a server without their first member, `jsonrpc`; each of their numbers is `number`.
    private static func frames(_ number: String) -> [String] {
        let id = #""call_id":"\#(call)""#
        let times = #""expires_at":\#(number),"remaining_ms":\#(number)"#
        return [
            #""method":"welcome","params":{"protocol":1,"server":"r","version":"1","node":"n","time":\#(number),"#
                + #""ping_interval_ms":\#(number),"max_frame_bytes":\#(number),"features":[]}"#,
            #""id":1,"error":{"code":-1,"message":"m","data":{"code":"overloaded","retry_after_ms":\#(number)}}"#,
            #""method":"server.draining","params":{"seq":\#(number),"deadline_ms":\#(number)}"#,
            #""method":"call.incoming","params":{"seq":1,\#(id),"from":{"handle":"bob"},"to":{"user":"alice"},\#(times)}"#,
            #""method":"call.state","params":{"seq":1,\#(id),"state":"ringing","at":\#(number),\#(times),"#
                + #""legs":{"waking":\#(number),"ringing":\#(number)}}"#,
            #""method":"later","params":{"seq":\#(number)}"#,
        ]
    }

    @Test(
        "whatever number the server writes, the phone goes on and can open a session again",
        arguments: [
            "0", "1", "9007199254740991", "-1", "-9223372036854775808", "9007199254740992", "9223372036854775807",
            "18446744073709551615", "99999999999999999999", "1e400", "1.5", "\"5\"", "null",
        ])
    func serverNumbers(_ number: String) {
        for frame in Self.frames(number) {
            for state in ["welcoming", "opening", "open"] {
                var harness = SessionHarness { $0.probesSilence = true }
                _ = harness.give(.started(ticket: nil, limit: nil))
                _ = harness.give(.tokenFetched(attempt: harness.attempt, token: "t"))
                _ = harness.give(.connected(attempt: harness.attempt))
                if state != "welcoming" { _ = harness.receive(.welcome(harness.welcome)) }
                if state == "open" { _ = harness.answerOpen(harness.opened()) }
                _ = harness.command(.invite(Invite(call: Self.call, to: .user(H.bob))))
                var effects: [SessionEffect] = []
                for second in [0, 30, 3600] {
                    harness.now = .seconds(second)
                    let (attempt, now) = (harness.attempt, harness.now)
                    Array("{\"jsonrpc\":\"2.0\",\(frame)}".utf8).withUnsafeBytes {
                        harness.session.handle(frame: $0, attempt: attempt, now: now, effects: &effects)
                    }
                    harness.session.handleTimeouts(now: harness.now, effects: &effects)
                    _ = harness.session.nextDeadline
                }
                _ = harness.give(.abandoned)
                harness.open()
                #expect(harness.session.isOpen, "\(frame) while \(state)")
            }
        }
    }

    // MARK: Without a server

    @Test("a call stops ringing at its deadline also where no server is there to say so")
    func ringsOut() {
        var harness = H.ringing(Self.call) { $0.backoffCeiling = .seconds(1) }
        _ = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: ""))
        var ended: [PhoneCall] = []
        while ended.isEmpty, harness.now < .seconds(100) {
            ended = harness.advance(.milliseconds(100)).endedCalls
            _ = harness.give(.tokenFailed(attempt: harness.attempt, reason: ""))
        }
        #expect(ended.map(\.reason) == [.ringTimeout])
        #expect(harness.now == .seconds(47))
    }

    @Test("going offline, being replaced and being abandoned leave no call behind")
    func noCallIsLeft() {
        for input in 0..<3 {
            var harness = H.ringing(Self.call)
            var effects: [SessionEffect]
            switch input {
            case 0: effects = harness.give(.stopped(ticket: nil)) + harness.advance(.seconds(2))
            case 1: effects = harness.give(.disconnected(attempt: harness.attempt, code: 3503, reason: ""))
            default: effects = harness.give(.abandoned)
            }
            #expect(effects.endedCalls.map(\.reason) == (input == 2 ? [] : [.connectionLost]))
            #expect(harness.session.liveCalls.isEmpty)
            #expect(harness.session.nextDeadline == nil)
        }
    }

    @Test("text goes into JSON with its escapes")
    func jsonText() {
        #expect(RawJSON.text("v=0\r\n\"\\\t\u{1}é").json == "\"v=0\\r\\n\\\"\\\\\\t\\u0001é\"")
    }
}
