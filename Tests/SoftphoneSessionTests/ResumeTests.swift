import CallVocabulary
import Testing

@testable import SoftphoneSession

@Suite struct ResumeTests {
    typealias H = SessionHarness

    @Test("a lost connection is resumed with the session, its newest token and the last event")
    func resumes() throws {
        var harness = H.online()
        let call = H.incoming(H.call(1), at: harness.serverNow)
        _ = harness.event(1, .incoming(call))
        let first = try #require(harness.loseAndReachOpening().openRequest?.resume)
        #expect(first == ResumeRequest(session: H.sessionID, token: "r1", lastSeq: 1))
        let back = harness.answerOpen(harness.opened(resumed: true, token: "r2"))
        #expect(back.connectionChanges == [.resumed(harness.opened(resumed: true, token: "r2"))])
        #expect(back.endedCalls.isEmpty)
        #expect(harness.session.liveCalls.map(\.id) == [H.call(1)])
        let second = try #require(harness.loseAndReachOpening().openRequest?.resume)
        #expect(second == ResumeRequest(session: H.sessionID, token: "r2", lastSeq: 1))
    }

    @Test("replayed events are handled once, new ones go on from there")
    func replayIsDeduplicated() {
        var harness = H.ringing(H.call(1))
        _ = harness.loseAndReopen(resumed: true)
        #expect(harness.event(1, .incoming(H.incoming(H.call(1), at: harness.serverNow))).isEmpty)
        #expect(harness.event(2, H.ended(H.call(1), .cancelled)).endedCalls.map(\.reason) == [.cancelled])
        #expect(harness.event(2, H.ended(H.call(1), .cancelled)).isEmpty)
        #expect(harness.session.lastHandledSeq == 2)
        #expect(harness.session.liveCalls.isEmpty)
    }

    @Test("a new session counts its events from 1 again")
    func newSessionCountsAfresh() {
        var harness = H.online()
        for seq in 1...5 as ClosedRange<UInt64> { _ = harness.event(seq, .draining(deadline: .seconds(1))) }
        _ = harness.loseAndReopen(resumed: false)
        #expect(harness.session.lastHandledSeq == 0)
        #expect(harness.event(1, .draining(deadline: .seconds(2))).events == [.draining(deadline: .seconds(2))])
    }

    @Test(
        "calls that a new session does not list are asked about, those it lists take its state"
    )
    func reconciles() throws {
        var harness = H.online()
        for number in 1...3 as ClosedRange<UInt64> {
            _ = harness.event(number, .incoming(H.incoming(H.call(number), at: harness.serverNow)))
        }
        _ = harness.loseAndReachOpening()
        var answered = H.snapshot(H.call(2), .callee, .connected)
        answered.by = Party(user: H.alice, device: H.device)
        var over = H.snapshot(H.call(3), .callee, .ended)
        over.reason = .cancelled
        let effects = harness.answerOpen(harness.opened(calls: [answered, over]))
        #expect(effects.endedCalls.map(\.id) == [H.call(3)])
        #expect(effects.endedCalls.map(\.reason) == [.cancelled])
        #expect(effects.states == [.connected])
        let asked = try #require(harness.session.outbox.first { $0.request == .get(H.call(1)) })
        #expect(asked.sentAt == harness.now)
        let answer = harness.receive(.error(.number(asked.id), SignalError(.forbidden, "no such call")))
        #expect(answer.endedCalls.map(\.id) == [H.call(1)])
        #expect(answer.endedCalls.map(\.reason) == [.connectionLost])
        #expect(harness.session.liveCalls.map(\.id) == [H.call(2)])
        #expect(harness.session.liveCalls.map(\.state) == [.connected])
    }

    @Test("a ringing call of the snapshot is announced by its event, once, with what the event brings")
    func snapshotThenIncoming() {
        var harness = H.online(calls: [H.snapshot(H.call(1), .callee, .ringing)])
        #expect(harness.session.liveCalls.map(\.id) == [H.call(1)])
        let sdp = RawJSON.text("offer")
        let effects = harness.event(1, .incoming(H.incoming(H.call(1), at: harness.serverNow, sdp: sdp)))
        #expect(effects.incomingCalls.map(\.sdp) == [sdp])
        #expect(effects.requests == [.ringing(H.call(1))])
    }

    @Test("a call offered again to a new session does not ring a second time")
    func offeredAgain() {
        var harness = H.ringing(H.call(1))
        _ = harness.loseAndReopen(calls: [H.snapshot(H.call(1), .callee, .ringing)])
        var again = H.incoming(H.call(1), at: harness.serverNow)
        again.candidates = [RawJSON.text("c")]
        let effects = harness.event(1, .incoming(again))
        #expect(effects.incomingCalls.isEmpty)
        #expect(effects.requests.isEmpty)
        #expect(
            effects.events.contains(
                .candidates(CallCandidates(call: H.call(1), candidates: [RawJSON.text("c")]))))
    }

    @Test("a gap in the events leads to a fresh session instead of a wrong picture")
    func gap() throws {
        var harness = H.online()
        let effects = harness.event(2, .draining(deadline: .seconds(1)))
        #expect(effects.first == .disconnect)
        #expect(effects.retryDelays.count == 1)
        #expect(try #require(harness.startAndReachOpening().openRequest).resume == nil)
    }

    @Test("events of an unknown kind count as handled")
    func unknownKind() {
        var harness = H.online()
        #expect(harness.give(.receivedUnknown(attempt: harness.attempt, seq: 1)).isEmpty)
        #expect(harness.event(2, .draining(deadline: .seconds(1))).events.count == 1)
        #expect(harness.session.lastHandledSeq == 2)
    }

    @Test("a device in the background says so again to a new session, and not to a resumed one")
    func backgroundIsSaidAgain() throws {
        var harness = H.online()
        _ = try harness.command(.state(.background), answeredBy: .done)
        #expect(harness.loseAndReopen(resumed: true).requests.isEmpty)
        #expect(harness.loseAndReopen(resumed: false).requests == [.state(.background)])
    }

    // MARK: Acknowledgements

    @Test("one acknowledgement stands for all events of a quarter of a second")
    func ackIsCoalesced() {
        var harness = H.online()
        var effects: [SessionEffect] = []
        for seq in 1...10 as ClosedRange<UInt64> {
            effects += harness.event(seq, .draining(deadline: .seconds(1)))
            effects += harness.advance(.milliseconds(10))
        }
        #expect(effects.acks.isEmpty)
        effects = harness.advance(.milliseconds(150))
        #expect(effects.acks == [10])
        #expect(harness.advance(.seconds(60)).isEmpty, "and then there is nothing left to do")
    }

    @Test("a burst is acknowledged every 16 events")
    func ackOfABurst() {
        var harness = H.online()
        var effects: [SessionEffect] = []
        for seq in 1...40 as ClosedRange<UInt64> { effects += harness.event(seq, .draining(deadline: .seconds(1))) }
        #expect(effects.acks == [16, 32])
        #expect(harness.advance(.seconds(1)).acks == [40])
    }

    @Test("nothing is acknowledged on a connection that is gone, and the resume says it instead")
    func ackAfterLoss() throws {
        var harness = H.online()
        _ = harness.event(1, .draining(deadline: .seconds(1)))
        let open = harness.loseAndReachOpening()
        #expect(open.acks.isEmpty)
        #expect(try #require(open.openRequest?.resume).lastSeq == 1)
        _ = harness.answerOpen(harness.opened(resumed: true))
        #expect(harness.advance(.seconds(5)).acks.isEmpty)
    }
}

extension ResumeTests {
    @Test("a call given up here that lives on at the server is hung up, one that still rings is announced anew")
    func guessesAreSetRight() {
        var harness = H.online()
        let placed = H.call(1)
        let ringing = H.call(2)
        _ = harness.command(.invite(Invite(call: placed, to: .user(H.bob))))
        _ = harness.event(1, .incoming(H.incoming(ringing, at: harness.serverNow)))
        let gone = harness.give(.disconnected(attempt: harness.attempt, code: 3503, reason: ""))
        #expect(Set(gone.endedCalls.map(\.id)) == [placed, ringing])
        _ = harness.startAndReachOpening()
        let snapshots = [H.snapshot(placed, .caller, .answered), H.snapshot(ringing, .callee, .ringing)]
        let opened = harness.answerOpen(harness.opened(calls: snapshots))
        #expect(opened.requests == [.hangup(placed, .hangup)])
        #expect(harness.event(1, .incoming(H.incoming(ringing, at: harness.serverNow))).incomingCalls.count == 1)
        #expect(harness.session.liveCalls.map(\.id) == [ringing])
    }
}
