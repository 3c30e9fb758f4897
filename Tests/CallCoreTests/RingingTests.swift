import CallVocabulary
import Determinism
import RecordModel
import Testing

@testable import CallCore

/// Calls between phones that are online: ringing, answering, declining, cancelling, and the timers of a call.
/// Rules are numbered as in the call semantics.
@Suite struct RingingTests {
    let world = World()
    let alice: Phone
    let bob: Phone
    let tablet: Phone

    init() {
        alice = world.phone("alice")
        bob = world.phone("bob")
        tablet = world.phone("bob")
        for phone in [alice, bob, tablet] { phone.open() }
    }

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

    @Test(
        "rule 9: a decline speaks for all devices of the user",
        arguments: [
            (DeclineReason.declined, EndReason.declined), (.dnd, .declined),
        ])
    func declineAll(reason: DeclineReason, end: EndReason) {
        let call = alice.call(bob)
        tablet.ring(call)
        #expect(bob.decline(call, reason).reply == .callState(.ended, end))
        #expect(bob.endings(of: call).map(\.reason) == [end])
        #expect(bob.endings(of: call).map(\.isOwnAct) == [true])
        #expect(tablet.endings(of: call).map(\.reason) == [.declinedElsewhere])
        #expect(alice.endings(of: call).map(\.reason) == [end])
        #expect(bob.session?.missed.isEmpty == true)
        tablet.open()
        #expect(tablet.session?.missed.isEmpty == true)
    }

    @Test("a list rings on after one member declined, and not on a device that member opens later")
    func declineInList() {
        let carol = world.phone("carol")
        carol.open()
        let call = alice.call(.users([bob.user, carol.user]))
        bob.decline(call)
        #expect(alice.endings(of: call).isEmpty)
        let late = world.phone("bob")
        late.open()
        #expect(late.offers(of: call).isEmpty)
        carol.hangUp(call)
        #expect(alice.endings(of: call).map(\.reason) == [.declined])
    }

    @Test("a decline after the answer is refused, and ends nothing")
    func declineAfterAnswer() {
        let call = alice.call(bob)
        bob.answer(call)
        #expect(bob.decline(call).code == .badState(.answered))
        #expect(world.core.liveCalls == 1)
    }

    @Test("the caller's hang-up before the answer is a cancel")
    func cancel() {
        let call = alice.call(bob)
        bob.ring(call)
        alice.hangUp(call)
        #expect(bob.endings(of: call).map(\.reason) == [.cancelled])
        #expect(alice.endings(of: call).map(\.isOwnAct) == [true])
        #expect(bob.answer(call).code == .callEnded(.cancelled))
        bob.open()
        #expect(bob.session?.missed.map(\.call) == [call])
        bob.ask(.clearMissed(upTo: world.now))
        bob.open()
        #expect(bob.session?.missed.isEmpty == true)
    }

    @Test(
        "the ring deadline ends a call at its time and not before, with a sign of life or without",
        arguments: [
            (true, true), (true, false), (false, true), (false, false),
        ])
    func ringTimeout(rings: Bool, asksForTime: Bool) {
        let ring = asksForTime ? Duration.seconds(10) : .seconds(45)
        let call = alice.call(.user(bob.user), ring: asksForTime ? ring : nil)
        if rings { bob.ring(call) } else { bob.ack() }
        world.advance(ring - .milliseconds(1))
        #expect(alice.endings(of: call).isEmpty)
        world.advance(.milliseconds(1))
        #expect(alice.endings(of: call).map(\.reason) == [.ringTimeout])
        #expect(bob.endings(of: call).map(\.reason) == [.ringTimeout])
        #expect(bob.answer(call).code == .callEnded(.ringTimeout))
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

    @Test("rule 6: late and repeated commands change nothing and are answered with how it stands")
    func lateCommands() {
        let call = alice.call(bob)
        bob.ring(call)
        #expect(bob.ring(call).reply == .callState(.ringing, nil))
        bob.answer(call)
        #expect(tablet.ring(call).reply == .callState(.ended, .answeredElsewhere))
        #expect(tablet.decline(call).reply == .callState(.ended, .answeredElsewhere))
        #expect(tablet.hangUp(call).reply == .callState(.ended, .answeredElsewhere))
        #expect(tablet.connected(call).reply == .callState(.ended, .answeredElsewhere))
        bob.connected(call)
        #expect(bob.connected(call).reply == .callState(.answered, nil))
        alice.hangUp(call, .iceFailed)
        let before = world.store.calls[call]
        for answer in [bob.ring(call), bob.decline(call), bob.hangUp(call), bob.connected(call), alice.hangUp(call)] {
            #expect(answer.reply == .callState(.ended, .iceFailed))
        }
        #expect(world.store.calls[call] == before)
        #expect(alice.endings(of: call).count == 1)
        #expect(bob.endings(of: call).count == 1)
    }

    @Test("rule 1: an invite again gets the same answer; another body is a conflict, another user forbidden")
    func inviteAgain() {
        let call = alice.call(bob, sdp: "1")
        let invite = Invite(call: call, to: .user(bob.user), sdp: RawJSON("1"))
        #expect(alice.ask(.invite(invite)).reply == .invited(call, .routing, expiresAt: world.now + .seconds(45)))
        #expect(bob.offers(of: call).count == 1)
        #expect(alice.ask(.invite(Invite(call: call, to: .user(bob.user), sdp: RawJSON("2")))).code == .conflict)
        #expect(bob.ask(.invite(invite)).code == .forbidden)
        bob.decline(call)
        #expect(alice.ask(.invite(invite)).reply == .inviteEnded(call, .declined))
        #expect(world.core.counters.callsInvited == 1)
    }

    @Test("rule 15: what one may not do is refused in the same words as a call that does not exist")
    func forbidden() {
        let call = alice.call(bob)
        let eve = world.phone("eve")
        eve.open()
        let unknown = world.newCall()
        let acts: [(CallID) -> ClientRequest] = [
            { .ringing($0) }, { .answer($0, sdp: nil) }, { .decline($0, .declined) }, { .connected($0) },
            { .hangup($0, .hangup) }, { .get($0) }, { .update(CallUpdate(call: $0, kind: .hold)) },
            { .report(PushReport(push: PushID(high: 1, low: 1), call: $0, result: .reported)) },
        ]
        for act in acts {
            let refusal = eve.ask(act(unknown)).error
            #expect(refusal?.code == .forbidden)
            #expect(eve.ask(act(call)).error == refusal)
        }
        // The caller in the callee's role.
        let refusal = alice.ring(unknown).error
        for act in acts.prefix(3) { #expect(alice.ask(act(call)).error == refusal) }
        let other = world.phone("alice")
        other.open()
        #expect(other.hangUp(call).error == refusal)
        #expect(world.core.liveCalls == 1)
        #expect(alice.states(of: call).isEmpty)
    }

    @Test("rule 16: nobody to reach ends the call at once, and it is missed; a handle nobody had is unknown")
    func nobodyThere() {
        let gone = world.phone("carol", pushable: false)
        gone.open()
        gone.ask(.close)
        let call = alice.call(gone)
        #expect(alice.endings(of: call).map(\.reason) == [.noDevices])
        gone.open()
        #expect(gone.session?.missed.map(\.reason) == [.noDevices])
        let unknown = world.newCall()
        let invite = Invite(call: unknown, to: .user(Handle("nobody")!))
        #expect(alice.ask(.invite(invite)).reply == .inviteEnded(unknown, .unknownCallee))
        #expect(world.core.liveCalls == 0)
    }

    @Test("rule 17: a self-call rings the caller's other devices only")
    func selfCall() {
        let desk = world.phone("alice", pushable: false)
        desk.open()
        let call = alice.call(alice)
        #expect(alice.offers(of: call).isEmpty)
        #expect(desk.offers(of: call).count == 1)
        desk.answer(call)
        alice.hangUp(call)
        #expect(desk.endings(of: call).map(\.reason) == [.hangup])
        desk.ask(.logout)
        let second = alice.call(alice)
        #expect(alice.endings(of: second).map(\.reason) == [.noDevices])
    }

    @Test("rule 13: a list of a thousand rings everybody, no more, and one answer frees all others")
    func fanOut() {
        let crowd = (0..<1_010).map { world.phone("user\($0)", pushable: false) }
        for phone in crowd { phone.open() }
        let call = alice.call(.users(crowd.map(\.user)))
        #expect(crowd.filter { $0.offers(of: call).count == 1 }.count == 1_000)
        #expect(world.core.counters.hits(of: .legsPerCall) > 0)
        #expect(world.core.counters.limitsHit == world.core.counters.hits(of: .legsPerCall))
        crowd[500].answer(call)
        #expect(crowd.filter { $0.endings(of: call).map(\.reason) == [.answeredElsewhere] }.count == 999)
        #expect(world.store.legs(of: call).filter { $0.answeredAt != nil }.count == 1)
    }

    @Test("what a client may not ask for is answered: a ring time out of range")
    func badInput() {
        for seconds in [0, 4, 181, Int64.max / 2] {
            let invite = Invite(call: world.newCall(), to: .user(bob.user), ringTime: .seconds(seconds))
            #expect(alice.ask(.invite(invite)).code == .invalidParams)
        }
        #expect(world.core.liveCalls == 0)
    }

    @Test("updates reach the other party of an answered call, and nobody else")
    func updates() {
        let call = alice.call(bob)
        #expect(alice.ask(.update(CallUpdate(call: call, kind: .offer))).code == .badState(.routing))
        bob.answer(call)
        let hold = CallUpdate(call: call, kind: .hold, custom: RawJSON("{}"))
        #expect(alice.ask(.update(hold)).reply == .done)
        #expect(bob.events.last == .update(hold))
        bob.ask(.update(CallUpdate(call: call, kind: .resume)))
        #expect(alice.events.last == .update(CallUpdate(call: call, kind: .resume)))
        #expect(tablet.ask(.update(hold)).code == .forbidden)
        bob.hangUp(call)
        #expect(alice.ask(.update(hold)).code == .badState(.ended))
    }

    @Test("a draining server takes no new call and goes on with those it has")
    func draining() {
        let call = alice.call(bob)
        world.step(.drainingBegan(within: .seconds(60)))
        let second = Invite(call: world.newCall(), to: .user(bob.user))
        #expect(alice.ask(.invite(second)).code == .draining)
        #expect(bob.answer(call).reply == .won)
    }

    @Test("every session is told that the server drains, a few hundred at a time, and a new one when it opens")
    func drainingIsTold() {
        let crowd = (0..<1200).map { world.phone("m\($0)", pushable: false) }
        for phone in crowd { phone.open() }
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
        let late = world.phone("late")
        late.open()
        #expect(late.events == [.draining(deadline: .milliseconds(60_000 - 19_020))])
        // Another time, for everybody.
        world.step(.drainingBegan(within: .seconds(5)))
        world.advance(.seconds(1))
        #expect(crowd.count { $0.events.last == .draining(deadline: .milliseconds(4980)) } > 100)
        #expect(crowd[0].events.last == .draining(deadline: .seconds(5)))
        #expect(late.events.count == 2)
        world.advance(.seconds(60))
        let another = world.phone("another")
        another.open()
        #expect(another.events == [.draining(deadline: .zero)])
    }

    @Test("an ended call answers late commands for its time, then leaves memory with everything it had")
    func tombstone() throws {
        let carol = world.phone("carol")
        carol.open()
        carol.ask(.close)
        let call = alice.call(carol)
        let push = try world.deliver(call, to: carol)
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
