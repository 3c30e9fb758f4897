import CallVocabulary
import Testing

@testable import CallCore

/// Calls that are over stay in memory for two minutes, so many of them at most.
@Suite final class EndedCallsLimitTests {
    private static let limits = {
        var limits = CoreLimits()
        limits.endedCalls = 2
        return limits
    }()
    let (world, alice, bob) = World.pair(limits: limits)

    private func talk() -> CallID {
        let call = alice.call(bob)
        bob.answer(call)
        alice.hangUp(call)
        return call
    }

    @Test("with more the oldest leave memory, and the store answers for them as if they had stayed")
    func oldest() {
        let calls = (0..<4).map { _ in talk() }
        #expect(world.core.calls.keys.sorted() == calls[2...].sorted())
        #expect(world.core.counters.callsLeftToStore == 2 && world.core.counters.limitsHit == 0)
        #expect(world.core.counters.callsLookedUp == 0)
        #expect(bob.hangUp(calls[0]).reply == .callState(.ended, .hangup))
        #expect(bob.answer(calls[1]).code == .callEnded(.hangup))
        #expect(alice.ask(.get(calls[3])).snapshot?.reason == .hangup)
        #expect(world.core.counters.callsLookedUp == 2)
        world.advance(world.timers.tombstone)
        #expect(world.core.calls.isEmpty)
    }

    @Test("one whose end a woken device is still to be told of stays its time, and is told of")
    func owed() throws {
        bob.ask(.close)
        let woken = try alice.call(bob, push: .accepted).call
        alice.hangUp(woken)
        let carol = world.online("carol")
        for _ in 0..<3 {
            let call = alice.call(carol)
            carol.answer(call)
            alice.hangUp(call)
        }
        #expect(world.core.calls.count == 3 && world.core.calls[woken] != nil)
        #expect(world.core.counters.callsLeftToStore == 1)
        #expect(bob.open().opened?.calls.map(\.call) == [woken])
        world.advance(world.timers.tombstone + world.timers.report)
        #expect(world.core.calls.isEmpty)
    }

    @Test("a lower limit holds from the next thing that happens")
    func lowered() {
        for _ in 0..<2 { _ = talk() }
        var limits = Self.limits
        limits.endedCalls = 1
        world.step(.reconfigured(CoreSettings(limits: limits)))
        #expect(world.core.calls.count == 1)
    }
}
