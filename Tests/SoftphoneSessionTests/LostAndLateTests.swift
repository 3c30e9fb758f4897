import CallVocabulary
import Testing

@testable import SoftphoneSession

/// What is lost on the way, comes late, or comes to nothing, must leave no call on the screen that nobody has.
@Suite struct LostAndLateTests {
    typealias H = SessionHarness
    static let call = H.call(1)
    static let invite = Invite(call: call, to: .user(H.bob))

    private func push(_ harness: H, after time: Duration = .seconds(45)) -> CallPush {
        CallPush(
            call: Self.call, push: PushID(high: 3, low: 3), from: H.bob, video: false,
            expiresAt: harness.serverNow + time)
    }

    private func ringing(_ configure: (inout ClientSession.Configuration) -> Void = { _ in }) -> H {
        var harness = H { configuration in
            configuration.automaticRinging = false
            configure(&configuration)
        }
        harness.open()
        _ = harness.event(1, .incoming(H.incoming(Self.call, at: harness.serverNow)))
        return harness
    }

    private func lose(_ harness: inout H) {
        _ = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: ""))
    }

    // MARK: The server has no time

    @Test("what must not be lost is said again when the server has time, and not before")
    func heldUntilTheServerHasTime() throws {
        var harness = ringing()
        let first = try #require(harness.command(.answer(Self.call, sdp: nil), ticket: 1).lastRequestID)
        let busy = SignalError(.overloaded(retryAfter: .seconds(2)), "busy")
        #expect(harness.receive(.error(first, busy)).isEmpty, "the app is told of an outcome, not of a delay")
        #expect(harness.command(.connected(Self.call), ticket: 2).isEmpty, "not before the answer")
        #expect(harness.advance(.milliseconds(1999)).requests.isEmpty)
        let again = harness.advance(.milliseconds(501))
        #expect(again.requests == [.answer(Self.call, sdp: nil), .connected(Self.call)])
        #expect(harness.receive(.reply(first, .won)).outcome(1) == .success(.won))
    }

    @Test("a report that the server refuses for the moment is made all the same", arguments: [true, false])
    func reportIsHeld(isRateLimit: Bool) throws {
        var harness = H.online { $0.automaticReport = .reported }
        let told = harness.give(.pushReceived(push(harness)))
        let report = ClientRequest.report(PushReport(push: push(harness).push, call: Self.call, result: .reported))
        #expect(told.requests.first == report)
        let code =
            isRateLimit ? SignalError.Code.rateLimited(retryAfter: .seconds(1)) : .overloaded(retryAfter: .seconds(1))
        let id = harness.session.outbox[0].id
        _ = harness.receive(.error(.number(id), SignalError(code, "later")))
        #expect(harness.advance(.milliseconds(1500)).requests == [report])
    }

    // MARK: Ghosts

    @Test("a push that wakes a phone without a network rings no longer than a call may")
    func pushWithoutNetwork() {
        var harness = H { $0.backoffCeiling = .seconds(1) }
        _ = harness.give(.pushReceived(push(harness)))
        #expect(harness.passOffline(.seconds(44)).endedCalls.isEmpty)
        #expect(harness.passOffline(.seconds(2)).endedCalls.map(\.reason) == [.ringTimeout])
        #expect(harness.session.liveCalls.isEmpty)
    }

    @Test("a call whose end the server has not told in time is asked about")
    func overdueIsAskedAbout() throws {
        var harness = ringing()
        let effects = harness.advance(.seconds(47))
        #expect(effects.requests == [.get(Self.call)])
        var over = H.snapshot(Self.call, .callee, .ended)
        over.reason = .cancelled
        let answer = harness.receive(.reply(try #require(effects.lastRequestID), .call(over)))
        #expect(answer.endedCalls.map(\.reason) == [.cancelled])
        #expect(harness.advance(.seconds(60)).requests.isEmpty)
    }

    @Test("an overdue call on a connection that is dead ends when that is found out")
    func overdueOnADeadConnection() {
        var harness = ringing { $0.backoffCeiling = .seconds(1) }
        let effects = harness.advance(.seconds(57))
        #expect(effects.contains(.disconnect))
        #expect(effects.endedCalls.map(\.reason) == [.ringTimeout])
        #expect(harness.session.liveCalls.isEmpty)
    }

    @Test("an answered call outlives its connection for a while, not for ever, and is hung up if it turns out to live")
    func answeredWithoutNetwork() throws {
        var harness = ringing { $0.backoffCeiling = .seconds(1) }
        _ = try harness.command(.answer(Self.call, sdp: nil), answeredBy: .won)
        lose(&harness)
        #expect(harness.passOffline(.seconds(89)).endedCalls.isEmpty)
        #expect(harness.passOffline(.seconds(1)).endedCalls.map(\.reason) == [.connectionLost])
        _ = harness.startAndReachOpening()
        var snapshot = H.snapshot(Self.call, .callee, .connected)
        snapshot.by = Party(user: H.alice, device: H.device)
        #expect(harness.answerOpen(harness.opened(calls: [snapshot])).requests == [.hangup(Self.call, .hangup)])
    }

    @Test("a hangup that never reached the server ends the call here, and the server when it is heard of again")
    func hangupWithoutNetwork() {
        var harness = H.online { $0.backoffCeiling = .seconds(1) }
        _ = harness.command(.invite(Self.invite))
        _ = harness.receive(
            .reply(
                .number(harness.session.outbox[0].id),
                .invited(Self.call, .routing, expiresAt: harness.serverNow + .seconds(180))))
        lose(&harness)
        _ = harness.command(.hangup(Self.call, .hangup), ticket: 1)
        let effects = harness.passOffline(.seconds(60))
        #expect(effects.told == ["ended cancelled here"])
        #expect(effects.outcome(1) == .failure(.notConnected(lastFailure: "no token: no network")))
        let back = harness.reopen(calls: [H.snapshot(Self.call, .caller, .ringing)])
        #expect(back.requests == [.hangup(Self.call, .hangup)])
        #expect(back.told.isEmpty)
    }

    @Test("a call that was turned away without a network does not ring again, by push or event")
    func declinedWithoutNetwork() {
        var harness = H {
            $0.automaticRinging = false
            $0.backoffCeiling = .seconds(1)
        }
        harness.open()
        var offer = H.incoming(Self.call, at: harness.serverNow)
        offer.expiresAt = harness.serverNow + .seconds(180)
        _ = harness.event(1, .incoming(offer))
        lose(&harness)
        _ = harness.command(.decline(Self.call, .busy))
        #expect(harness.passOffline(.seconds(60)).told == ["ended busy here"])
        #expect(harness.give(.pushReceived(push(harness))).told == ["late push"])
        let back = harness.reopen(calls: [H.snapshot(Self.call, .callee, .ringing)])
        #expect(back.requests == [.hangup(Self.call, .hangup)], "which declines")
        #expect(harness.event(1, .incoming(offer)).isEmpty)
        #expect(harness.session.liveCalls.isEmpty)
    }

    @Test("an answer by id that comes to nothing leaves no call behind")
    func answerOfAnUnknownCall() {
        var harness = H { $0.backoffCeiling = .seconds(1) }
        _ = harness.command(.answer(Self.call, sdp: nil), ticket: 1)
        _ = harness.give(.started(ticket: nil, limit: nil))
        let effects = harness.passOffline(.seconds(60))
        #expect(effects.outcome(1) != nil)
        #expect(effects.endedCalls.map(\.reason) == [.connectionLost])
        #expect(harness.session.liveCalls.isEmpty)
    }

    @Test("an answer that may have won is not cut short by the ring deadline")
    func answerMayHaveWon() throws {
        var harness = ringing { $0.backoffCeiling = .seconds(1) }
        _ = harness.advance(.seconds(40))
        _ = harness.command(.answer(Self.call, sdp: nil), ticket: 1)
        lose(&harness)
        #expect(harness.passOffline(.seconds(10)).told.isEmpty)
        let back = harness.reopen(resumed: true)
        #expect(back.requests == [.answer(Self.call, sdp: nil)])
        let won = harness.receive(.reply(try #require(back.lastRequestID), .won))
        #expect(won.outcome(1) == .success(.won))
        #expect(won.states == [.answered])
    }

    @Test("asking about a call of another device does not bring it to this one")
    func callOfAnotherDevice() throws {
        var harness = H.online()
        let id = try #require(harness.command(.get(Self.call), ticket: 1).lastRequestID)
        let snapshot = H.snapshot(Self.call, .caller, .connected)
        let effects = harness.receive(.reply(id, .call(snapshot)))
        #expect(effects == [.complete(1, .success(.call(snapshot)))])
        #expect(harness.session.liveCalls.isEmpty)
    }

    // MARK: Invites

    @Test("a call that the server had and lists no more is asked about, even while its invite has no answer")
    func unlistedInvite() {
        var harness = H.online()
        let invite = ClientRequest.invite(Invite(call: H.call(1), to: .user(H.bob)))
        _ = harness.command(invite)
        let answered = CallStateChange(
            call: H.call(1), state: .answered, at: harness.serverNow, waking: 0, ringing: 0)
        _ = harness.event(1, .state(answered))
        #expect(harness.loseAndReopen().requests == [.get(H.call(1)), invite])
    }

    @Test("an invite that may have arrived is not sent again after it was hung up")
    func hungUpInviteIsNotRepeated() {
        var harness = H.online()
        _ = harness.command(.invite(Self.invite), ticket: 1)
        lose(&harness)
        let hungUp = harness.command(.hangup(Self.call, .hangup), ticket: 2)
        #expect(hungUp == [.complete(1, .failure(.callEnded(.cancelled)))])
        let back = harness.reopen(resumed: true)
        #expect(back.requests == [.hangup(Self.call, .hangup)])
        let never = harness.receive(.error(back.lastRequestID, SignalError(.forbidden, "")))
        #expect(never.told == ["ended cancelled here"])
        #expect(never.outcome(2) == .success(.callState(.ended, .cancelled)))
    }

    @Test("an invite tried again by its id is not hung up by the attempt before")
    func inviteTriedAgain() {
        var harness = H.online { $0.backoffCeiling = .seconds(1) }
        _ = harness.command(.invite(Self.invite), ticket: 1)
        lose(&harness)
        #expect(harness.passOffline(.seconds(10)).outcome(1) == .failure(.connectionLost))
        _ = harness.command(.invite(Self.invite), ticket: 2)
        #expect(harness.reopen(resumed: true).requests == [.invite(Self.invite)])
    }

    // MARK: Pushes

    @Test("a push that comes after the call's time does not ring")
    func overduePush() {
        var harness = H.online { $0.automaticReport = .reported }
        let late = push(harness, after: .seconds(-2))
        let effects = harness.give(.pushReceived(late))
        #expect(effects.events == [.latePush(late, .ringTimeout)])
        #expect(effects.requests.count == 1, "it is reported all the same")
        #expect(harness.session.liveCalls.isEmpty)
    }

    @Test("a call that the session's list says is over does not ring by a push that comes later")
    func pushAfterTheList() {
        var harness = H()
        var over = H.snapshot(Self.call, .callee, .ended)
        over.reason = .answeredElsewhere
        harness.open(calls: [over])
        let late = push(harness)
        #expect(harness.give(.pushReceived(late)).events == [.latePush(late, .answeredElsewhere)])
    }

    @Test("the same push handed over twice rings once and is reported once")
    func samePushTwice() {
        var harness = H { $0.automaticReport = .reported }
        let first = harness.give(.pushReceived(push(harness)))
        let second = harness.give(.pushReceived(push(harness)))
        #expect((first + second).told == ["incoming"])
        _ = harness.reachOpening()
        let opened = harness.answerOpen(harness.opened(calls: [H.snapshot(Self.call, .callee, .waking)]))
        #expect(opened.requests.filter { if case .call(.report) = $0 { true } else { false } }.count == 1)
    }

    @Test("a push that comes while the phone goes offline brings it back and rings on")
    func pushWhileClosing() {
        var harness = H.online { $0.automaticReport = .reported }
        _ = harness.give(.stopped(ticket: 1))
        let effects = harness.give(.pushReceived(push(harness)))
        #expect(effects.outcome(1) == .success(.done))
        #expect(effects.told == ["incoming"])
        #expect(effects.contains(.fetchToken(attempt: harness.attempt)))
        _ = harness.reachOpening()
        let opened = harness.answerOpen(harness.opened(calls: [H.snapshot(Self.call, .callee, .waking)]))
        #expect(opened.endedCalls.isEmpty && opened.incomingCalls.isEmpty)
        #expect(opened.requests.count == 2, "report and ringing")
        #expect(harness.session.liveCalls.map(\.id) == [Self.call])
    }

    // MARK: Tokens and states

    @Test("the tokens said last are said again after a logout, whoever asked for it", arguments: [true, false])
    func latestTokens(isOwn: Bool) throws {
        let old = PushToken(provider: .apns, kind: .voip, environment: .production, topic: "t", token: "old")
        let new = PushToken(provider: .apns, kind: .voip, environment: .production, topic: "t", token: "new")
        var harness = H.online { $0.push = [old] }
        _ = try harness.command(.updateDevice(push: [new]), answeredBy: .done)
        if isOwn { _ = harness.command(.logout) }
        _ = harness.give(.disconnected(attempt: harness.attempt, code: 3506, reason: ""))
        #expect(try #require(harness.startAndReachOpening().openRequest).push == [new])
    }

    @Test("the deadline of one stage is not shown in the next")
    func deadlines() throws {
        var harness = ringing()
        #expect(harness.session.liveCalls[0].expiresAt == harness.serverNow + .seconds(45))
        _ = try harness.command(.answer(Self.call, sdp: nil), answeredBy: .won)
        #expect(harness.session.liveCalls[0].expiresAt == nil)
        var change = CallStateChange(call: Self.call, state: .answered, at: harness.serverNow, waking: 0, ringing: 0)
        change.expiresAt = harness.serverNow + .seconds(20)
        _ = harness.event(2, .state(change))
        #expect(harness.session.liveCalls[0].expiresAt == change.expiresAt)
        change.state = .connected
        change.expiresAt = nil
        _ = harness.event(3, .state(change))
        #expect(harness.session.liveCalls[0].expiresAt == nil)
        #expect(harness.advance(.seconds(60)).requests.isEmpty, "and nobody asks about it")
    }

    @Test("a phone abandoned on its way out leaves nobody waiting")
    func abandonedWhileClosing() {
        var harness = H.online()
        _ = harness.give(.stopped(ticket: 6))
        #expect(harness.give(.abandoned).outcome(6) == .success(.done))
    }
}

/// Both sides call each other.
@Suite struct GlareTests {
    typealias H = SessionHarness
    static let own = H.call(2)
    static let theirs = H.call(1)

    private static func lost(_ harness: H, _ loser: CallID, to winner: CallID) -> ServerEvent {
        .ended(
            CallEnded(
                call: loser, reason: .glare, by: nil, at: harness.serverNow, isOwnAct: false, mergedInto: winner))
    }

    @Test("the phone ends up with one call, and knows which, in whatever order it learns", arguments: [0, 1, 2])
    func oneCallIsLeft(order: Int) {
        var harness = H.online { $0.automaticRinging = false }
        _ = harness.command(.invite(Invite(call: Self.own, to: .user(H.bob))), ticket: 1)
        let incoming = ServerEvent.incoming(H.incoming(Self.theirs, at: harness.serverNow))
        let lost = Self.lost(harness, Self.own, to: Self.theirs)
        var effects: [SessionEffect] = []
        if order == 2 {
            let id = harness.session.outbox[0].id
            effects += harness.receive(.reply(.number(id), .inviteEnded(Self.own, .glare)))
        }
        effects += harness.event(1, order == 1 ? incoming : lost)
        effects += harness.event(2, order == 1 ? lost : incoming)
        let expected = order == 1 ? ["incoming", "ended glare", "merged"] : ["ended glare", "merged", "incoming"]
        #expect(effects.told == expected)
        #expect(effects.events.contains(.merged(Self.own, into: Self.theirs)))
        #expect(harness.session.liveCalls.map(\.id) == [Self.theirs])
        #expect(harness.session.liveCalls[0].mergedFrom == Self.own)
        if order != 2 { #expect(effects.endedCalls[0].mergedInto == Self.theirs) }
        if order != 1 { #expect(effects.incomingCalls[0].mergedFrom == Self.own, "known before it is shown") }
    }

    @Test("the one's own call that wins goes on while the incoming one ends")
    func ownCallWins() {
        var harness = H.online { $0.automaticRinging = false }
        let own = H.call(0)
        _ = harness.command(.invite(Invite(call: own, to: .user(H.bob))))
        _ = harness.event(1, .incoming(H.incoming(Self.theirs, at: harness.serverNow)))
        let effects = harness.event(2, Self.lost(harness, Self.theirs, to: own))
        #expect(effects.told == ["ended glare", "merged"])
        #expect(harness.session.liveCalls.map(\.id) == [own])
        #expect(harness.session.liveCalls[0].mergedFrom == Self.theirs)
    }

    @Test("a loser that the app never heard of merges nothing")
    func neverShown() {
        var harness = H.online()
        #expect(harness.event(1, Self.lost(harness, Self.theirs, to: Self.own)).events.isEmpty)
        let push = CallPush(
            call: Self.theirs, push: PushID(high: 1, low: 1), from: H.bob, video: false, expiresAt: harness.serverNow)
        #expect(harness.give(.pushReceived(push)).events == [.latePush(push, .glare)])
    }

    @Test("a merge learned from the list of a new session is told too")
    func learnedFromTheList() {
        var harness = H.ringing(Self.theirs) { $0.automaticRinging = false }
        _ = harness.loseAndReachOpening()
        var over = H.snapshot(Self.theirs, .callee, .ended)
        over.reason = .glare
        over.mergedInto = Self.own
        let effects = harness.answerOpen(harness.opened(calls: [over, H.snapshot(Self.own, .caller, .ringing)]))
        #expect(effects.told == ["ended glare", "merged", "ringing"])
        #expect(harness.session.liveCalls.map(\.mergedFrom) == [Self.theirs])
    }
}
