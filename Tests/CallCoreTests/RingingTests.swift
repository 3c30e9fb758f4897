import CallVocabulary
import Determinism
import RecordModel
import Testing

@testable import CallCore

/// Calls between phones that are online, beyond what ``CallTableTests`` has of each input by itself.
/// Rules are numbered as in the call semantics.
@Suite final class RingingTests {
    let (world, alice, bob, tablet) = World.trio("bob")

    @Test("a call rings on all devices, the first answer wins, and the others learn who took it")
    func firstAnswerWins() throws {
        let call = alice.call(bob, sdp: "\"offer\"")
        #expect(bob.offers(of: call).map(\.sdp) == [RawJSON("\"offer\"")])
        #expect(tablet.offers(of: call).count == 1)
        bob.ring(call)
        tablet.ring(call)
        #expect(alice.states(of: call) == [.ringing])
        #expect(bob.answer(call, sdp: "\"answer\"").reply == .won)
        #expect(alice.changes(of: call).last?.state == .answered)
        #expect(alice.changes(of: call).last?.by == bob.party)
        #expect(alice.changes(of: call).last?.sdp == RawJSON("\"answer\""))
        #expect(tablet.endings(of: call).map(\.reason) == [.answeredElsewhere])
        #expect(tablet.endings(of: call).first?.by == bob.party)
        #expect(bob.endings(of: call).isEmpty)
        #expect(tablet.answer(call).code == .alreadyAnswered(by: bob.party))
        // Rule 6: the winner's answer again has won, still.
        #expect(bob.answer(call).reply == .won)
        alice.connected(call)
        #expect(bob.connected(call).reply == .callState(.connected, nil))
        #expect(alice.states(of: call) == [.ringing, .answered, .connected])
        #expect(bob.states(of: call) == [.connected])
        world.advance(.seconds(600))
        #expect(world.core.liveCalls == 1)
        bob.hangUp(call)
        #expect(alice.endings(of: call).map(\.reason) == [.hangup])
        #expect(alice.endings(of: call).map(\.isOwnAct) == [false])
        #expect(bob.endings(of: call).map(\.isOwnAct) == [true])
        #expect(tablet.endings(of: call).count == 1)
        #expect(world.store.calls[call]?.endReason == .hangup)
        #expect(world.core.counters.callsConnected == 1)
    }

    @Test("rule 7: an answer needs neither ringing before it nor an acknowledgement", arguments: [true, false])
    func answerFromAnyState(isAcknowledged: Bool) {
        let call = alice.call(bob)
        if isAcknowledged { bob.ack() }
        #expect(bob.answer(call).reply == .won)
        #expect(world.leg(call, of: bob)?.state == .answered)
        #expect(alice.states(of: call) == [.answered])
    }

    @Test("a list rings on after one member declined, and not on a device that member opens later")
    func declineInList() {
        let carol = world.online("carol")
        let call = alice.call(.users([bob.user, carol.user]))
        bob.decline(call)
        #expect(alice.endings(of: call).isEmpty)
        let late = world.online("bob")
        #expect(late.offers(of: call).isEmpty)
        carol.hangUp(call)
        #expect(alice.endings(of: call).map(\.reason) == [.declined])
    }

    @Test("an answer in time stops the ring deadline and starts the connect deadline", arguments: [true, false])
    func connectTimeout(callerConnects: Bool) {
        let call = alice.call(bob)
        world.advance(.seconds(44))
        bob.answer(call)
        #expect(alice.changes(of: call).last?.expiresAt == world.now + .seconds(20))
        world.advance(.seconds(19))
        if callerConnects { alice.connected(call) }
        #expect(world.core.liveCalls == 1)
        world.advance(.seconds(1))
        #expect(alice.endings(of: call).map(\.reason) == [.connectTimeout])
        #expect(bob.endings(of: call).map(\.reason) == [.connectTimeout])
    }

    @Test("rule 13: a list of a thousand rings everybody, no more, and one answer frees all others")
    func fanOut() {
        let crowd = (0..<1_010).map { world.online("user\($0)", pushable: false) }
        let call = alice.call(.users(crowd.map(\.user)))
        #expect(crowd.filter { $0.offers(of: call).count == 1 }.count == 1_000)
        #expect(world.core.counters.hits(of: .legsPerCall) > 0)
        #expect(world.core.counters.limitsHit == world.core.counters.hits(of: .legsPerCall))
        crowd[500].answer(call)
        #expect(crowd.filter { $0.endings(of: call).map(\.reason) == [.answeredElsewhere] }.count == 999)
        #expect(world.store.legs(of: call).filter { $0.answeredAt != nil }.count == 1)
    }

    @Test("updates reach the other party of an answered call as they were sent")
    func updates() {
        let call = alice.call(bob)
        bob.answer(call)
        let hold = CallUpdate(call: call, kind: .hold, custom: RawJSON("{}"))
        #expect(alice.ask(.update(hold)).reply == .done)
        #expect(bob.events.last == .update(hold))
        bob.ask(.update(CallUpdate(call: call, kind: .resume)))
        #expect(alice.events.last == .update(CallUpdate(call: call, kind: .resume)))
    }

    @Test("every session is told that the server drains, a few hundred at a time, and a new one when it opens")
    func drainingIsTold() {
        let crowd = (0..<1200).map { world.online("m\($0)", pushable: false) }
        world.step(.drainingBegan(within: .seconds(60)))
        let told = { crowd.count { $0.events.contains { if case .draining = $0 { true } else { false } } } }
        #expect(told() < 600)
        #expect(world.core.isDraining)
        crowd[1100].lose()
        world.advance(.milliseconds(10))
        #expect((900...1000).contains(told()))
        world.advance(.milliseconds(10))
        #expect(told() == 1199)
        world.advance(.seconds(19))
        crowd[1100].resume()
        #expect(crowd[1100].events.last == .draining(deadline: .milliseconds(60_000 - 19_020)))
        let late = world.online("late")
        #expect(late.events == [.draining(deadline: .milliseconds(60_000 - 19_020))])
        // Another time, for everybody.
        world.step(.drainingBegan(within: .seconds(5)))
        world.advance(.seconds(1))
        #expect(crowd.count { $0.events.last == .draining(deadline: .milliseconds(4980)) } > 100)
        #expect(crowd[0].events.last == .draining(deadline: .seconds(5)))
        #expect(late.events.count == 2)
        world.advance(.seconds(60))
        let another = world.online("another")
        #expect(another.events == [.draining(deadline: .zero)])
    }

    @Test("an ended call answers late commands for its time, then leaves memory with everything it had")
    func tombstone() throws {
        let carol = world.asleep("carol")
        let (call, push) = try alice.call(carol, push: .accepted)
        weak let leg = world.core.pushes[push]?.leg
        weak let memory = world.core.calls[call]
        #expect(leg != nil)
        alice.hangUp(call)
        world.advance(.seconds(119))
        #expect(alice.hangUp(call).reply == .callState(.ended, .cancelled))
        world.advance(.seconds(1))
        #expect(leg == nil && memory == nil)
        #expect(world.core.census.deadlines == 0)
    }
}
