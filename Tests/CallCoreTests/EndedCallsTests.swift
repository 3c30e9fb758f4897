import CallVocabulary
import Testing

@testable import CallCore

@Suite("Calls that are over, in what a new session is told")
final class EndedCallsTests {
    private static let limits = {
        var limits = CoreLimits()
        // One phone gets many calls here.
        limits.pushesPerDevice = 1000
        limits.pushingCallsPerPair = 1000
        limits.pushingCallsPerCaller = 1000
        return limits
    }()
    let (world, alice, bob) = World.pair(limits: limits)

    /// Bob's phone is woken and answers; whether it reports the push before the call is over, and what of its session it
    /// acknowledges, is the test's.
    private func talk(isReported: Bool = true) throws -> (call: CallID, push: PushID) {
        bob.ask(.close)
        let (call, push) = try alice.call(bob, push: .accepted)
        bob.open()
        if isReported { bob.report(push, call) }
        bob.answer(call)
        return (call, push)
    }

    private func sleepAndOpen() -> [CallID]? {
        bob.ask(.close)
        return bob.open().opened?.calls.map(\.call)
    }

    @Test("one whose end was acknowledged is not told again, but by a wake token and when asked for")
    func acknowledged() throws {
        let (call, _) = try talk()
        alice.hangUp(call)
        bob.ack()
        #expect(sleepAndOpen() == [])
        #expect(bob.ask(.get(call)).snapshot?.state == .ended)
        bob.ask(.close)
        #expect(bob.wake(call).opened?.calls.map(\.state) == [.ended])
    }

    @Test("one whose end was not is told to each new session, until one has acknowledged what came after it")
    func unacknowledged() throws {
        let (call, _) = try talk()
        bob.ack()
        alice.hangUp(call)
        #expect(sleepAndOpen() == [call])
        #expect(sleepAndOpen() == [call])
        alice.hangUp(alice.call(bob))
        bob.ack()
        #expect(sleepAndOpen() == [])
    }

    @Test(
        "one whose push was not reported is told again: the push may come later, to another process",
        arguments: [0, 60])
    func unreported(seconds: Int) throws {
        let (call, push) = try talk(isReported: false)
        alice.hangUp(call)
        bob.ack()
        // The report is not waited for any longer; the push may come all the same.
        world.advance(.seconds(seconds))
        #expect(sleepAndOpen() == [call])
        bob.ack()
        #expect(sleepAndOpen() == [call])
        bob.report(push, call)
        #expect(sleepAndOpen() == [])
    }

    @Test("one that a woken phone finds over is not told again once its push is reported")
    func foundOver() throws {
        bob.ask(.close)
        let (call, push) = try alice.call(bob, push: .accepted)
        alice.hangUp(call)
        #expect(bob.open().opened?.calls.map(\.call) == [call])
        #expect(bob.report(push, call).reply == .callState(.ended, .cancelled))
        #expect(sleepAndOpen() == [])
    }

    @Test("the newest come first, where a frame does not hold them all")
    func many() throws {
        var calls: [CallID] = []
        for _ in 0..<160 {
            bob.ask(.close)
            calls.append(alice.call(bob))
            _ = try world.deliver(calls[calls.count - 1], to: bob)
            alice.hangUp(calls[calls.count - 1])
            bob.open()
        }
        let told = try #require(sleepAndOpen())
        #expect(told.count > 100 && told.count < 160 && told == calls.suffix(told.count).reversed())
    }

    @Test("one whose push was never sent is not told")
    func neverSent() {
        bob.ask(.close)
        alice.hangUp(alice.call(bob))
        #expect(bob.open().opened?.calls == [])
    }

    @Test("one that a device without a push has joined late is not told again")
    func joinedLate() throws {
        let tablet = world.phone("bob", tokens: [])
        bob.ask(.close)
        let call = alice.call(bob)
        #expect(tablet.open().opened?.calls.map(\.call) == [call])
        tablet.answer(call)
        alice.hangUp(call)
        #expect(tablet.endings(of: call).count == 1)
        tablet.ask(.close)
        #expect(tablet.open().opened?.calls == [])
    }

    @Test("one that ended while the socket was gone is told again when the resume's answer is lost too")
    func resumed() throws {
        let (call, _) = try talk()
        bob.lose()
        alice.hangUp(call)
        #expect(bob.resume(lastSeq: 0).opened?.resumed == true)
        bob.lose()
        #expect(bob.open().opened?.calls.map(\.call) == [call])
    }

    @Test("one that was over when the server started is told, and forgotten in time")
    func restarted() throws {
        bob.ask(.close)
        let call = try alice.call(bob, push: .accepted).call
        alice.hangUp(call)
        world.restart()
        #expect(bob.open().opened?.calls.map(\.call) == [call])
        world.advance(.seconds(200))
        #expect(sleepAndOpen() == [])
    }
}
