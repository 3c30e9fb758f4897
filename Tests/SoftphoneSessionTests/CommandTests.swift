import CallVocabulary
import Testing

@testable import SoftphoneSession

@Suite struct CommandTests {
    typealias H = SessionHarness
    static let call = H.call(1)
    static let invite = Invite(call: call, to: .user(H.bob), sdp: RawJSON.text("offer"))

    // MARK: Answers and time-outs

    @Test("answers find their commands, in whatever order they come")
    func answersOutOfOrder() throws {
        var harness = H.online()
        let first = try #require(harness.command(.get(H.call(1)), ticket: 1).lastRequestID)
        let second = try #require(harness.command(.get(H.call(2)), ticket: 2).lastRequestID)
        #expect(first != second)
        let snapshot = H.snapshot(H.call(2), .caller, .ended)
        let effects = harness.receive(.reply(second, .call(snapshot)))
        #expect(effects == [.complete(2, .success(.call(snapshot)))])
        let error = SignalError(.notFound, "no")
        #expect(harness.receive(.error(first, error)) == [.complete(1, .failure(.refused(error)))])
        #expect(harness.receive(.error(first, error)).isEmpty, "a second answer changes nothing")
        #expect(harness.receive(.reply(.string("x"), .done)).isEmpty)
        #expect(harness.receive(.error(nil, error)).isEmpty)
    }

    @Test("a command without an answer times out by itself while others are answered")
    func timeout() throws {
        var harness = H.online()
        _ = harness.command(.get(H.call(1)), ticket: 1)
        _ = harness.advance(.seconds(4))
        _ = try harness.command(.get(H.call(2)), ticket: 2, answeredBy: .done)
        #expect(harness.advance(.milliseconds(5999)).isEmpty)
        #expect(harness.advance(.milliseconds(1)) == [.complete(1, .failure(.timedOut))])
        #expect(harness.session.isOpen)
        #expect(harness.session.nextDeadline == nil)
    }

    @Test("no answer and nothing else either means that the connection is dead: it is given up, the answer is repeated")
    func deadConnection() throws {
        var harness = H.ringing(Self.call)
        _ = harness.advance(.seconds(1))
        _ = harness.command(.answer(Self.call, sdp: nil), ticket: 1)
        let effects = harness.advance(.seconds(10))
        #expect(effects.contains(.disconnect))
        #expect(effects.outcome(1) == nil)
        #expect(harness.reopen(resumed: true).requests.contains(.answer(Self.call, sdp: nil)))
    }

    @Test("a message that is too large for the server fails alone")
    func tooLarge() throws {
        var harness = H.online()
        let id = try #require(harness.command(.invite(Self.invite), ticket: 1).lastRequestID)
        let effects = harness.give(.tooLarge(attempt: harness.attempt, id, limit: 65_536))
        guard case .failure(.refused(let error)) = effects.outcome(1) else {
            Issue.record("\(effects)")
            return
        }
        #expect(error.code == .tooLarge(limit: 65_536))
        #expect(harness.session.isOpen)
        #expect(harness.session.liveCalls.isEmpty)
    }

    @Test("the queue is bounded")
    func queueIsBounded() {
        var harness = H()
        for _ in 0..<ClientSession.outboxLimit { #expect(harness.command(.get(Self.call)).isEmpty) }
        let limit = ClientSession.outboxLimit
        #expect(harness.command(.get(Self.call), ticket: 1) == [.complete(1, .failure(.queueFull(limit: limit)))])
    }

    // MARK: Without a connection

    @Test("an invite without a connection fails clearly after its time, and no call is left over")
    func inviteOffline() {
        var harness = H { $0.backoffCeiling = .seconds(1) }
        #expect(harness.command(.invite(Self.invite), ticket: 1).isEmpty)
        #expect(harness.session.liveCalls.map(\.state) == [.routing])
        #expect(harness.advance(.milliseconds(9999)).isEmpty)
        #expect(harness.advance(.milliseconds(1)) == [.complete(1, .failure(.notConnected(lastFailure: nil)))])
        #expect(harness.session.liveCalls.isEmpty)
    }

    @Test("an invite is sent by a session that comes up in time, and again by the next one if it was not answered")
    func inviteIsRepeated() throws {
        var harness = H()
        _ = harness.command(.invite(Self.invite), ticket: 1)
        #expect(harness.reopen().requests == [.invite(Self.invite)])
        let again = harness.loseAndReopen(resumed: false)
        #expect(again.requests == [.invite(Self.invite)])
        #expect(again.endedCalls.isEmpty, "the server has still to hear of the call")
        let id = try #require(again.lastRequestID)
        let reply = Reply.invited(Self.call, .waking, expiresAt: harness.serverNow + .seconds(45))
        let effects = harness.receive(.reply(id, reply))
        #expect(effects.outcome(1) == .success(reply))
        #expect(effects.states == [.waking])
    }

    @Test("an invite whose fate is unknown is hung up, so that no ghost rings")
    func unknownInviteIsHungUp() {
        var harness = H.online()
        _ = harness.command(.invite(Self.invite), ticket: 1)
        _ = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: ""))
        let expired = harness.passOffline(.seconds(10))
        #expect(expired.outcome(1) == .failure(.connectionLost))
        #expect(harness.session.liveCalls.isEmpty)
        let back = harness.reopen(resumed: true)
        #expect(back.requests == [.hangup(Self.call, .hangup)])
        #expect(harness.receive(.error(back.lastRequestID, SignalError(.forbidden, ""))).isEmpty)
    }

    @Test(
        "what does no harm when it is late is kept, and sent in order",
        arguments: [
            ClientRequest.decline(call, .busy), .hangup(call, .hangup), .answer(call, sdp: nil), .connected(call),
            .report(PushReport(push: PushID(high: 1, low: 1), call: call, result: .reported)),
            .updateDevice(push: []),
        ])
    func kept(request: ClientRequest) {
        var harness = H.online { $0.automaticRinging = false }
        _ = harness.event(1, .incoming(H.incoming(Self.call, at: harness.serverNow + .seconds(100))))
        _ = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: ""))
        #expect(harness.command(request, ticket: 1).isEmpty)
        #expect(harness.passOffline(.seconds(30)).outcome(1) == nil)
        #expect(harness.reopen(resumed: true).requests == [request])
    }

    @Test("what is kept is not kept for ever")
    func keptExpires() {
        var harness = H.online()
        _ = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: "cable"))
        _ = harness.command(.updateDevice(push: []), ticket: 1)
        #expect(harness.passOffline(.seconds(59)).outcome(1) == nil)
        guard case .failure(.notConnected) = harness.passOffline(.seconds(1)).outcome(1) else {
            Issue.record("still kept")
            return
        }
    }

    @Test("an update that may have been taken is not repeated")
    func updateIsSentOnce() {
        var harness = H.ringing(Self.call)
        _ = harness.command(.update(CallUpdate(call: Self.call, kind: .hold)), ticket: 1)
        let lost = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: ""))
        #expect(lost.outcome(1) == .failure(.connectionLost))
    }

    @Test("candidates wait for the connection, behind the invite they belong to")
    func candidatesWait() {
        var harness = H()
        let candidates = CallCandidates(call: Self.call, candidates: [RawJSON.text("c")])
        _ = harness.command(.invite(Self.invite))
        #expect(harness.give(.gathered(candidates)).isEmpty)
        let frames = harness.reopen().frames
        #expect(frames.count == 2)
        #expect(frames.last == .notification(.candidates(candidates)))
        let more = CallCandidates(call: Self.call, candidates: [], isFinal: true)
        #expect(harness.give(.gathered(more)) == [.send(.notification(.candidates(more)))])
    }

    // MARK: While still meaningful

    @Test("a call hung up before the server heard of it never was")
    func hangupOfUnsentInvite() {
        var harness = H()
        _ = harness.command(.invite(Self.invite), ticket: 1)
        let effects = harness.command(.hangup(Self.call, .hangup), ticket: 2)
        #expect(effects.outcome(1) == .failure(.callEnded(.cancelled)))
        #expect(effects.outcome(2) == .success(.callState(.ended, .cancelled)))
        #expect(effects.endedCalls.map(\.reason) == [.cancelled])
        #expect(effects.endedCalls.map(\.callKitReason) == [nil])
        #expect(harness.reopen().requests.isEmpty)
    }

    @Test(
        "a hangup kept for a call that is not in the snapshot is sent, because its reply tells the true reason",
        arguments: [
            (nil, EndReason.cancelled), (SignalError.Code.forbidden, .declined), (.invalidParams, .connectionLost),
        ])
    func hangupOfVanishedCall(refusal: SignalError.Code?, reason: EndReason) throws {
        var harness = H.ringing(Self.call) { $0.automaticRinging = false }
        _ = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: ""))
        _ = harness.command(.hangup(Self.call, .hangup), ticket: 1)
        let back = harness.reopen()
        #expect(back.requests == [.hangup(Self.call, .hangup)])
        #expect(back.endedCalls.isEmpty)
        let id = try #require(back.lastRequestID)
        let effects =
            if let refusal { harness.receive(.error(id, SignalError(refusal, ""))) } else {
                harness.receive(.reply(id, .callState(.ended, .cancelled)))
            }
        #expect(effects.endedCalls.map(\.reason) == [reason])
    }

    @Test("an answer kept for a call that is not in the snapshot is sent, because its reply tells the true reason")
    func answerOfVanishedCall() {
        var harness = H.ringing(Self.call) { $0.automaticRinging = false }
        _ = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: ""))
        _ = harness.command(.answer(Self.call, sdp: nil), ticket: 1)
        let back = harness.reopen()
        #expect(back.requests == [.answer(Self.call, sdp: nil)])
        #expect(back.endedCalls.isEmpty)
        let effects = harness.receive(.error(back.lastRequestID, SignalError(.callEnded(.cancelled), "over")))
        #expect(effects.outcome(1) == .failure(.callEnded(.cancelled)))
        #expect(effects.endedCalls.map(\.reason) == [.cancelled])
    }

    @Test("commands on a call that is known to be over are settled here as the server would")
    func commandsOnEndedCall() {
        var harness = H.ringing(Self.call)
        _ = harness.event(2, H.ended(Self.call, .cancelled))
        let over = Result<Reply, SoftphoneError>.success(.callState(.ended, .cancelled))
        #expect(harness.command(.hangup(Self.call, .hangup), ticket: 1) == [.complete(1, over)])
        #expect(harness.command(.decline(Self.call, .busy), ticket: 2) == [.complete(2, over)])
        let lost = Result<Reply, SoftphoneError>.failure(.callEnded(.cancelled))
        #expect(harness.command(.answer(Self.call, sdp: nil), ticket: 3) == [.complete(3, lost)])
        let update = CallUpdate(call: Self.call, kind: .hold)
        #expect(harness.command(.update(update), ticket: 4) == [.complete(4, lost)])
    }
}
