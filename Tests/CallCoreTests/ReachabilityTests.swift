import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Whether anything can still tell a device of a call: rule 19.
@Suite final class ReachabilityTests {
    let (world, alice, bob) = World.pair()

    private func push(_ call: CallID) -> PushRecord? { world.push(call, to: bob) }

    @Test("a device that rings and loses its socket is pushed unless it is back within the time for a sign of life")
    func killedWhileRinging() throws {
        let call = alice.call(bob)
        bob.ring(call)
        bob.lose()
        #expect(push(call) == nil)
        world.advance(world.timers.delivery)
        try world.deliver(call, to: bob)
        #expect(world.store.calls[call]?.state == .ringing)
        world.advance(world.timers.resume)
        #expect(world.store.calls[call]?.state == .ringing, "the push may have arrived")
        bob.wake(call)
        #expect(bob.answer(call).reply == .won)
    }

    @Test("a resume in time needs no push")
    func resumedInTime() {
        let call = alice.call(bob)
        bob.ring(call)
        bob.lose()
        world.advance(.seconds(1))
        bob.resume()
        world.advance(.seconds(10))
        #expect(push(call) == nil)
    }

    @Test("a device that comes back while its push waits is not pushed")
    func backBeforeTheWire() throws {
        let call = alice.call(bob)
        bob.ring(call)
        bob.lose()
        world.advance(world.timers.delivery)
        bob.resume()
        #expect(push(call)?.status == .cancelled)
        bob.lose()
        world.advance(world.timers.delivery)
        try world.deliver(call, to: bob)
        #expect(push(call)?.status == .accepted)
    }

    @Test("a session closed while it rings is pushed at once; without a token the device is given up")
    func closedWhileRinging() throws {
        let call = alice.call(bob)
        bob.ring(call)
        bob.ask(.close)
        try world.deliver(call, to: bob)
        let carol = world.online("carol", pushable: false)
        let second = alice.call(carol)
        carol.ring(second)
        carol.ask(.close)
        #expect(world.store.calls[second]?.endReason == .noDevices)
    }

    @Test("a push that was withdrawn because the device rang is sent after all when the device is lost")
    func withdrawnPush() throws {
        bob.lose()
        let call = alice.call(bob)
        #expect(push(call)?.status == .intended)
        bob.resume()
        bob.ring(call)
        #expect(push(call)?.status == .cancelled)
        bob.ask(.close)
        #expect(push(call)?.status == .intended)
        try world.deliver(call, to: bob)
    }

    @Test("a push is sent once: a device lost again after it is given up at the end of the resume window")
    func onePush() throws {
        bob.ask(.close)
        let call = try alice.call(bob, push: .accepted).call
        bob.open()
        bob.ring(call)
        bob.ask(.close)
        #expect(world.store.calls[call]?.state == .ringing, "its push may start the app again")
        #expect(push(call)?.status == .accepted)
    }

    @Test("a push that cannot be sent ends the matter, also of a device that rang")
    func cannotBeSent() throws {
        let call = alice.call(bob)
        bob.ring(call)
        bob.ask(.close)
        world.settle(try #require(push(call)?.id), .unsent(reason: "no provider"))
        #expect(world.store.calls[call]?.endReason == .noDevices)
    }

    // MARK: Half-open sockets

    @Test("a full session that says nothing after its device was pushed does not keep the woken app out")
    func halfOpen() throws {
        let call = alice.call(bob)
        world.advance(world.timers.delivery)
        let socket = try #require(bob.connection)
        try world.deliver(call, to: bob)
        #expect(bob.connection == socket)
        #expect(bob.wake(call).opened != nil)
        #expect(bob.closes == [.pingTimeout])
        #expect(bob.answer(call).reply == .won)
    }

    @Test("a full session that has acknowledged the call, or was opened after the push, does")
    func alive() throws {
        bob.ask(.state(.background))
        let call = try alice.call(bob, push: .accepted).call
        bob.ack()
        #expect(bob.wake(call).code == .conflict)
        let carol = world.asleep("carol")
        let second = try alice.call(carol, push: .accepted).call
        world.advance(.milliseconds(10))
        carol.open()
        #expect(carol.wake(second).code == .conflict)
    }
}
