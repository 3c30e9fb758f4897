import CallVocabulary
import Testing

@testable import CallCore

/// A device that has logged out is nobody's until it opens a session of its own again.
@Suite final class LogoutTests {
    let (world, alice, bob) = World.pair(bobIsAsleep: true)

    @Test(
        "no wake token opens a session after a logout, while the call is live and when it is over, until a new login",
        arguments: [false, true])
    func wakeToken(isOver: Bool) throws {
        // Another device keeps the call going.
        world.online("bob", pushable: false)
        let call = try alice.call(bob, push: .accepted).call
        bob.open()
        #expect((try? bob.ask(.logout).get()) != nil)
        if isOver { alice.hangUp(call) }
        #expect(bob.wake(call).code == .forbidden)
        let asked = world.ask(.get(call), as: bob.user, device: bob.key.device, scope: .call(call))
        #expect(asked?.code == .forbidden)
        world.restart()
        #expect(bob.wake(call).code == .forbidden)
        // The same app, logged in again.
        bob.open()
        bob.ask(.close)
        #expect(bob.wake(call).code == nil)
    }

    @Test("a push that was on its way can still be reported with its wake token")
    func report() throws {
        let (call, push) = try alice.call(bob, push: .accepted)
        bob.open()
        bob.ask(.logout)
        let report = PushReport(push: push, call: call, result: .reported)
        let answer = world.ask(.report(report), as: bob.user, device: bob.key.device, scope: .call(call))
        #expect((try? answer?.get()) != nil)
        #expect(world.push(call, to: bob)?.report == .reported)
    }

    @Test("a session that is closed, lost or replaced is no logout: the wake token opens one")
    func otherEnds() throws {
        let call = try alice.call(bob, push: .accepted).call
        bob.open()
        bob.ask(.close)
        #expect(bob.wake(call).code == nil)
        world.restart()
        #expect(bob.wake(call).code == nil)
    }
}
