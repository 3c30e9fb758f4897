import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Calls taken back from the store are few at a time, and only those that are over.
@Suite struct ArchiveLimitTests {
    private static let limits = {
        var limits = CoreLimits()
        limits.archivedLegs = 1
        return limits
    }()
    let world = World(limits: limits)
    let alice: Phone
    let calls: [CallID]

    init() {
        let (alice, bob) = (world.online("alice"), world.online("bob"))
        calls = [alice.call(bob), alice.call(bob)]
        for call in calls { alice.hangUp(call) }
        world.advance(world.timers.tombstone)
        self.alice = alice
    }

    private let busy = SignalError.Code.overloaded(retryAfter: .seconds(1))

    @Test("so many are in memory at a time; each makes room when it is forgotten again")
    func room() {
        #expect(alice.ask(.get(calls[0])).snapshot?.reason == .cancelled)
        #expect(alice.ask(.get(calls[1])).code == busy)
        #expect(alice.ask(.get(calls[0])).snapshot != nil)
        world.advance(world.timers.archive)
        #expect(world.core.calls.isEmpty)
        #expect(alice.ask(.get(calls[1])).snapshot?.reason == .cancelled)
        #expect(world.core.counters.limitsHit == 1)
        #expect(world.core.counters.hits(of: .archivedLegs) == 1)
    }

    @Test("a call the store still has as live, from before its end was written, is not taken for one")
    func readTooEarly() throws {
        world.answersSearches = false
        alice.send(.get(calls[0]))
        var stored = try #require(world.store.stored(calls[0]))
        stored.call.state = .ringing
        (stored.call.endedAt, stored.call.endReason) = (nil, nil)
        let number = try #require(world.lookUps.first?.number)
        world.step(.store(.found(number: number, Found(call: stored))))
        #expect(alice.lastAnswer?.code == busy)
        #expect(world.core.calls.isEmpty && world.core.liveCalls == 0)
    }
}
