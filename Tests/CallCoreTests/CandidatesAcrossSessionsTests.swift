import CallVocabulary
import Testing

@testable import CallCore

/// Candidates reach the other side once, however its sessions and the server's processes change: rule 8.
@Suite struct CandidatesAcrossSessionsTests {
    let world = World()
    let alice: Phone
    let bob: Phone

    init() {
        alice = world.phone("alice")
        bob = world.phone("bob")
        alice.open()
        bob.open()
    }

    @Test("a winner that opens anew is not told again what it was told before it answered")
    func winnerOpensAnew() {
        let call = alice.call(bob)
        alice.send(["1"], of: call)
        bob.answer(call)
        bob.open()
        #expect(bob.candidates(of: call) == ["1"])
    }

    @Test("what the winner sent before it answered is the caller's after a restart, and nobody else's")
    func calleeSideSurvives() {
        let call = alice.call(bob)
        bob.send(["1"], of: call)
        world.restart()
        alice.open()
        bob.open()
        #expect(bob.candidates(of: call) == [])
        bob.answer(call)
        #expect(alice.candidates(of: call) == ["1"])
    }

    @Test("what the caller has been handed at the answer is off the disk, and not handed over again")
    func handedOverOnce() {
        let call = alice.call(bob)
        bob.send(["1"], of: call)
        #expect(world.store.candidates.count == 1)
        bob.answer(call)
        #expect(world.store.candidates.isEmpty)
        world.restart()
        alice.open()
        #expect(alice.candidates(of: call) == ["1"])
    }

    @Test("a caller without a session at the answer gets the winner's candidates with its next one")
    func callerComesBack() {
        let call = alice.call(bob)
        world.restart()
        bob.open()
        bob.send(["1"], of: call)
        bob.answer(call)
        bob.send(["2"], of: call)
        alice.open()
        #expect(alice.candidates(of: call) == ["1", "2"])
        #expect(alice.snapshot(of: call)?.state == .answered)
    }

    @Test("a call that ends takes both sides' candidates off the disk")
    func dropped() {
        let call = alice.call(bob)
        alice.send(["1"], of: call)
        bob.send(["2"], of: call)
        #expect(world.store.candidates.count == 2)
        alice.hangUp(call)
        #expect(world.store.candidates.isEmpty)
    }

    @Test("what a device sent before it left the call is not sent for it when it is back, restart or not")
    func leftAndBack() {
        let (carol, dave) = (world.phone("carol", pushable: false), world.phone("dave"))
        for phone in [carol, dave] { phone.open() }
        let call = alice.call(.users([carol.user, dave.user]))
        carol.send(["1"], of: call)
        carol.ask(.close)
        #expect(world.leg(call, of: carol)?.endReason == .noDevices)
        world.restart()
        alice.open()
        carol.open()
        #expect(carol.answer(call).reply == .won)
        #expect(alice.candidates(of: call) == [])
    }
}
