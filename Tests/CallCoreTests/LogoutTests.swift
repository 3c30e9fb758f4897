import CallVocabulary
import Testing

@testable import CallCore

/// A device that has logged out is nobody's until it opens a session of its own again.
@Suite struct LogoutTests {
    let world = World()

    /// Alice calls Bob's sleeping phone, whose push carries a wake token.
    private func waking() throws -> (alice: Phone, bob: Phone, call: CallID, push: PushID) {
        let (alice, bob) = (world.online("alice"), world.online("bob"))
        bob.ask(.close)
        let call = alice.call(bob)
        return (alice, bob, call, try world.deliver(call, to: bob))
    }

    @Test("no wake token opens a session after a logout, while the call is live and when it is over, until a new login")
    func wakeToken() throws {
        for isOver in [false, true] {
            let world = World()
            let (alice, bob) = (world.phone("alice"), world.phone("bob"))
            // Another device keeps the call going.
            let other = world.phone("bob", pushable: false)
            alice.open()
            other.open()
            bob.open()
            bob.ask(.close)
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
    }

    @Test("a push that was on its way can still be reported with its wake token")
    func report() throws {
        let (_, bob, call, push) = try waking()
        bob.open()
        bob.ask(.logout)
        let report = PushReport(push: push, call: call, result: .reported)
        let answer = world.ask(.report(report), as: bob.user, device: bob.key.device, scope: .call(call))
        #expect((try? answer?.get()) != nil)
        #expect(world.push(call, to: bob)?.report == .reported)
    }

    @Test("a session that is closed, lost or replaced is no logout: the wake token opens one")
    func otherEnds() throws {
        let (_, bob, call, _) = try waking()
        bob.open()
        bob.ask(.close)
        #expect(bob.wake(call).code == nil)
        world.restart()
        #expect(bob.wake(call).code == nil)
    }
}
