import CallVocabulary
import Testing

@testable import SoftphoneSession

/// Sessions opened with the token of a push.
@Suite struct WakeSessionTests {
    typealias H = SessionHarness
    static let call = H.call(1)
    static let token = PushToken(provider: .apns, kind: .voip, environment: .production, topic: "t", token: "x")

    static func push(_ call: CallID, _ harness: H, wakeToken: String? = "wake") -> CallPush {
        CallPush(
            call: call, push: PushID(high: 3, low: call.low), from: H.bob, video: true,
            expiresAt: harness.serverNow + .seconds(45), wakeToken: wakeToken)
    }

    /// A phone woken by a push that cannot get its own token.
    static func woken(_ configure: (inout ClientSession.Configuration) -> Void = { _ in }) -> H {
        var harness = H(configure: configure)
        _ = harness.give(.pushReceived(push(call, harness)))
        return harness
    }

    @Test("a limited session does not say the push tokens: the server would not take them, and they are still due")
    func tokensAreStillDue() throws {
        var harness = Self.woken { $0.push = [Self.token] }
        let open = try #require(harness.reachOpeningByWakeToken().openRequest)
        #expect(open.token == "wake")
        #expect(open.push == nil)
        _ = harness.answerOpen(harness.opened(calls: [H.snapshot(Self.call, .callee, .ringing)]))
        let full = try #require(harness.loseAndReachOpening().openRequest)
        #expect(full.token == "t")
        #expect(full.push == [Self.token])
    }

    @Test("the list of a limited session says nothing of the other calls")
    func otherCallsLiveOn() {
        var harness = H.online()
        let talk = H.call(8)
        _ = harness.event(1, .incoming(H.incoming(talk, at: harness.serverNow)))
        _ = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: ""))
        _ = harness.give(.pushReceived(Self.push(Self.call, harness)))
        harness.openByWakeToken(calls: [H.snapshot(Self.call, .callee, .ringing)])
        #expect(harness.session.liveCalls.map(\.id) == [talk, Self.call])
        #expect(harness.session.calls.filter(\.isUnlisted).isEmpty)
    }

    @Test("a limited session becomes a full one as soon as the app has its token, and nothing is lost on the way")
    func becomesFull() throws {
        var harness = Self.woken()
        harness.openByWakeToken(calls: [H.snapshot(Self.call, .callee, .ringing)])
        let ringing = try #require(harness.session.outbox.first { $0.request == .ringing(Self.call) })
        _ = harness.receive(.reply(.number(ringing.id), .callState(.ringing, nil)))
        let invite = Invite(call: H.call(9), to: .user(H.bob))
        #expect(harness.command(.invite(invite), ticket: 5).requests.isEmpty, "not for a wake token")
        var asked = harness.advance(.seconds(1))
        #expect(asked.contains(.fetchToken(attempt: harness.attempt)), "asked again within a second")
        _ = harness.give(.tokenFailed(attempt: harness.attempt, reason: "still locked"))
        asked = harness.advance(.seconds(2))
        #expect(asked.contains(.fetchToken(attempt: harness.attempt)), "and again")
        let old = harness.attempt
        let upgrade = harness.give(.tokenFetched(attempt: old, token: "own"))
        #expect(upgrade == [.disconnect, .connect(attempt: old + 1)])
        _ = harness.give(.connected(attempt: harness.attempt))
        let open = try #require(harness.receive(.welcome(harness.welcome)).openRequest)
        #expect(open.token == "own")
        #expect(open.resume == nil, "a limited session cannot be resumed as a full one")
        let full = harness.answerOpen(harness.opened(calls: [H.snapshot(Self.call, .callee, .ringing)]))
        #expect(full.requests == [.invite(invite)])
        #expect(full.endedCalls.isEmpty)
        #expect(harness.session.grant == .full)
        #expect(harness.session.upgradeDue == nil)
    }

    @Test("what is under way when the app's token comes is answered first")
    func waitsForAnswers() throws {
        var harness = Self.woken()
        harness.openByWakeToken(calls: [H.snapshot(Self.call, .callee, .ringing)])
        #expect(harness.session.outbox.contains { $0.sentAt != nil })
        #expect(harness.give(.tokenFetched(attempt: harness.attempt, token: "own")).isEmpty)
        #expect(harness.session.isOpen)
        for item in harness.session.outbox {
            _ = harness.receive(.reply(.number(item.id), .callState(.ringing, nil)))
        }
        #expect(harness.advance(.seconds(3)).contains(.fetchToken(attempt: harness.attempt)))
    }

    @Test("while a live full session of the device is in the way, a wake token waits and tries again")
    func conflict() {
        var harness = Self.woken()
        let open = harness.reachOpeningByWakeToken()
        let effects = harness.receive(.error(open.lastRequestID, SignalError(.conflict, "full session")))
        #expect(effects.retryDelays.count == 1)
        #expect(effects.endedCalls.isEmpty)
        _ = harness.advance(.seconds(1))
        harness.openByWakeToken(calls: [H.snapshot(Self.call, .callee, .ringing)])
        #expect(harness.session.grant == .call(Self.call))
    }

    @Test("a wake token that is refused does not put the phone away", arguments: [true, false])
    func staleWakeToken(byError: Bool) throws {
        var harness = Self.woken()
        let open = harness.reachOpeningByWakeToken()
        let effects =
            byError
            ? harness.receive(.error(open.lastRequestID, SignalError(.unauthenticated, "expired")))
            : harness.give(.disconnected(attempt: harness.attempt, code: 3500, reason: "bad token"))
        #expect(effects.retryDelays.count == 1)
        #expect(effects.contains(.disconnect) == byError)
        _ = harness.advance(.seconds(1))
        let failed = harness.give(.tokenFailed(attempt: harness.attempt, reason: "locked"))
        #expect(failed.retryDelays.count == 1, "that token is not tried again")
        _ = harness.advance(.seconds(2))
        #expect(try #require(harness.reachOpening().openRequest).token == "t")
    }

    @Test("an app that takes its time for a token does not keep a woken phone waiting")
    func patience() {
        var harness = Self.woken()
        #expect(harness.advance(.milliseconds(2999)).isEmpty)
        #expect(harness.advance(.milliseconds(1)) == [.connect(attempt: harness.attempt)])
        #expect(harness.session.grant == .call(Self.call))
    }

    @Test("a push for a call that is over is reported with its own token, also by a phone that goes to sleep at once")
    func latePushIsReported() throws {
        var harness = H.ringing(Self.call) { $0.automaticReport = .reported }
        _ = harness.event(2, H.ended(Self.call, .cancelled))
        for item in harness.session.outbox {
            _ = harness.receive(.reply(.number(item.id), .callState(.ended, .cancelled)))
        }
        let close = harness.give(.stopped(ticket: nil))
        _ = harness.receive(.reply(try #require(close.lastRequestID), .done))
        #expect(harness.session.connection == .idle)
        let push = Self.push(Self.call, harness)
        #expect(harness.give(.pushReceived(push)).told == ["late push"])
        #expect(harness.give(.stopped(ticket: 4)).isEmpty, "the report has to go out first")
        #expect(harness.command(.get(Self.call), ticket: 5) == [.complete(5, .failure(.closed))])
        let open = harness.reachOpeningByWakeToken()
        #expect(open.openRequest?.token == "wake")
        let effects = harness.answerOpen(harness.opened())
        #expect(
            effects.requests == [.report(PushReport(push: push.push, call: Self.call, result: .reported)), .close])
        let closed = harness.receive(.reply(try #require(effects.lastRequestID), .done))
        #expect(closed.outcome(4) == .success(.done))
        #expect(harness.session.connection == .idle)
        #expect(harness.session.nextDeadline == nil)
    }

    @Test("going offline waits 2 s at most for what is still to be said")
    func leavingIsBounded() {
        var harness = Self.woken { $0.automaticReport = .reported }
        _ = harness.give(.tokenFetched(attempt: harness.attempt, token: "t"))
        #expect(harness.give(.stopped(ticket: 4)).isEmpty)
        let effects = harness.advance(.seconds(2))
        #expect(effects.outcome(4) == .success(.done))
        #expect(effects.connectionChanges == [.offline])
        #expect(harness.session.connection == .idle)
    }
}
