import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Calls that a phone answers by HTTP and carries on in its next session: rules 6, 7 and 8. What each request does in each
/// situation is in the tables.
@Suite struct SessionlessTests {
    let world = World()
    let alice: Phone
    let bob: Phone

    init() {
        alice = world.phone("alice")
        bob = world.phone("bob")
        alice.open()
        bob.open()
    }

    /// How the app comes up after native code has answered.
    enum Comeback: CaseIterable {
        case wake, full, resumed
    }

    @Test(
        "a call answered by HTTP goes on in the next session, with offer, candidates and answer",
        arguments: Comeback.allCases)
    func goesOn(how: Comeback) throws {
        how == .resumed ? bob.lose() : { _ = bob.ask(.close) }()
        let call = alice.call(.user(bob.user), sdp: "offer", custom: "custom")
        try world.deliver(call, to: bob)
        alice.send(["1"], of: call)
        #expect(answer(call) == .success(.won))
        #expect(alice.states(of: call).last == .answered)
        #expect(alice.presences(of: call) == [.away(until: world.now + world.timers.resume)])
        alice.send(["2"], of: call)
        world.advance(world.timers.connect - .seconds(1))

        switch how {
        case .wake: bob.wake(call)
        case .full: bob.open()
        case .resumed: bob.resume()
        }
        let snapshot = try #require(bob.session?.calls.first { $0.call == call })
        #expect(snapshot.state == .answered && snapshot.by == bob.party)
        #expect(snapshot.sdp == RawJSON("offer") && snapshot.custom == RawJSON("custom"))
        #expect(bob.candidates(of: call) == ["1", "2"])
        #expect(alice.presences(of: call).last == .back)
        #expect(bob.answer(call, sdp: "answer") == .success(.won))
        #expect(alice.changes(of: call).compactMap(\.sdp) == [RawJSON("answer")])
        bob.answer(call, sdp: "another")
        #expect(alice.changes(of: call).compactMap(\.sdp) == [RawJSON("answer")], "the first one counts")
        bob.send(["3"], of: call)
        #expect(alice.candidates(of: call) == ["3"])
        alice.ask(.connected(call))
        bob.ask(.connected(call))
        #expect(alice.states(of: call).last == .connected)
        #expect(alice.changes(of: call).compactMap(\.isPolite).allSatisfy { !$0 })
        #expect(bob.changes(of: call).compactMap(\.isPolite).allSatisfy { $0 })
        #expect(alice.changes(of: call).last?.isPolite == false && bob.changes(of: call).last?.isPolite == true)
    }

    @Test("the SDP that completes an answer is told again after a restart, and not asked for once media flows")
    func completedAnswer() throws {
        bob.ask(.close)
        let call = alice.call(.user(bob.user), sdp: "offer")
        try world.deliver(call, to: bob)
        #expect(answer(call) == .success(.won))
        bob.open()
        bob.answer(call, sdp: "answer")
        world.restart()
        alice.open()
        bob.open()
        #expect(alice.session?.calls.first?.sdp == RawJSON("answer"))
        alice.ask(.connected(call))
        bob.ask(.connected(call))
        bob.answer(call, sdp: "late")
        #expect(world.store.descriptions[call]?.answer == nil)
    }

    @Test("a phone that answers by HTTP and opens no session ends the call when its time to connect is over")
    func neverComes() throws {
        bob.ask(.close)
        let call = alice.call(bob)
        try world.deliver(call, to: bob)
        #expect(answer(call) == .success(.won))
        world.advance(world.timers.connect)
        #expect(alice.endings(of: call).map(\.reason) == [.connectTimeout])
    }

    @Test("a session near the end of its resume window has the whole window again from the answer on")
    func wholeWindow() throws {
        bob.lose()
        world.advance(world.timers.resume - .seconds(1))
        let call = alice.call(bob)
        try world.deliver(call, to: bob)
        #expect(answer(call) == .success(.won))
        world.advance(.seconds(5))
        #expect(alice.endings(of: call).isEmpty)
        bob.resume()
        #expect(bob.session?.resumed == true)
    }

    @Test("a device that was given up and acts by HTTP has its part again", arguments: [true, false])
    func givenUp(answers: Bool) throws {
        let tablet = world.phone("bob", tokens: [])
        tablet.open()
        let call = alice.call(bob)
        tablet.ring(call)
        bob.open(sending: [])
        bob.ask(.close)
        #expect(world.leg(call, of: bob)?.endReason == .noDevices)
        if answers {
            #expect(world.ask(.answer(call, sdp: nil), as: bob.user, device: bob.id, scope: .full) == .success(.won))
        } else {
            let declined = world.ask(.hangup(call, .hangup), as: bob.user, device: bob.id, scope: .full)
            #expect(declined == .success(.callState(.ended, .declined)))
            #expect(alice.endings(of: call).map(\.reason) == [.declined])
        }
    }

    @Test("of a user with one device in the call none has to be named; of several, one that exists")
    func naming() throws {
        let tablet = world.phone("bob")
        tablet.open()
        let call = alice.call(bob)
        func decline(_ device: DeviceID?) -> Result<Reply, SignalError>? {
            world.ask(.decline(call, .busy), as: bob.user, device: device, scope: .full)
        }
        #expect(decline(nil)?.error?.code == .invalidParams)
        #expect(decline(alice.id)?.error?.code == .forbidden)
        #expect(decline(tablet.id) == .success(.callState(.ended, .busy)))
        #expect(world.leg(call, of: bob)?.state != .ended)
    }

    private func answer(_ call: CallID) -> Result<Reply, SignalError>? {
        world.ask(.answer(call, sdp: nil), as: bob.user, device: bob.id, scope: .call(call))
    }
}
