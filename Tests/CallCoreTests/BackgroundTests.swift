import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Devices whose app is in the background: told over the socket, and pushed as well.
@Suite final class BackgroundTests {
    let (world, alice, bob) = World.pair()

    @Test("a device in the background is told and pushed")
    func both() throws {
        bob.ask(.state(.background))
        let call = alice.call(bob)
        #expect(bob.offers(of: call).count == 1)
        #expect(alice.states(of: call) == [] && world.store.calls[call]?.state == .waking)
        try world.deliver(call, to: bob)
        #expect(world.push(call, to: bob)?.status == .accepted)
    }

    @Test("an acknowledgement is no sign that the user was told; ringing is")
    func signs() throws {
        bob.ask(.state(.background))
        let first = alice.call(bob)
        bob.ack()
        try world.transmit(first, to: bob)
        let second = alice.call(bob)
        bob.ring(second)
        world.makeReady(try #require(world.push(second, to: bob)?.id))
        #expect(world.push(second, to: bob)?.status == .cancelled)
    }

    @Test("going to the background while it is to ring pushes; while it rings, or in the foreground again, not")
    func goingThere() {
        let call = alice.call(bob)
        #expect(world.push(call, to: bob) == nil)
        bob.ask(.state(.background))
        #expect(world.push(call, to: bob)?.status == .intended)
        bob.ask(.state(.foreground))
        let second = alice.call(bob)
        bob.ring(second)
        bob.ask(.state(.background))
        #expect(world.push(second, to: bob) == nil)
    }

    @Test("a resume does not bring the app to the foreground: it says so itself")
    func resumed() {
        bob.ask(.state(.background))
        bob.lose()
        bob.resume()
        let call = alice.call(bob)
        #expect(bob.offers(of: call).count == 1)
        #expect(world.push(call, to: bob)?.status == .intended)
        bob.ask(.state(.foreground))
        let second = alice.call(bob)
        #expect(world.push(second, to: bob) == nil)
    }

    @Test("without a token the background changes nothing")
    func noToken() {
        let carol = world.online("carol", pushable: false)
        carol.ask(.state(.background))
        let call = alice.call(carol)
        #expect(carol.offers(of: call).count == 1)
        #expect(world.store.calls[call]?.state == .routing)
        #expect(carol.answer(call).reply == .won)
    }
}
