import CallVocabulary
import Testing

@testable import CallCore

/// What the core says again when its deadlines are other times on the wall.
@Suite struct RestatingTests {
    let world = World()

    private func restated() -> [StoreRecord] {
        var effects = EffectBuffer()
        world.core.restate(now: world.now, effects: &effects)
        let (records, outputs) = effects.take()
        #expect(outputs.isEmpty)
        return records
    }

    @Test("is each live call and each push that waits, as they stand, and nothing that is over")
    func all() throws {
        #expect(restated().isEmpty)
        let (alice, bob, carol) = (world.online("alice"), world.asleep("bob"), world.asleep("carol"))
        let waking = try alice.call(bob, push: .accepted).call
        let (over, push) = try alice.call(carol, push: .accepted)
        carol.wake(over)
        carol.report(push, over)
        alice.hangUp(over)
        let records = restated()
        #expect(
            records == [
                .call(try #require(world.core.calls[waking]).record), .push(try #require(world.push(waking, to: bob))),
            ])
        // It changes nothing.
        #expect(restated() == records)
        alice.hangUp(waking)
        // The call is over, and its push still waits for the report.
        #expect(restated() == [.push(try #require(world.push(waking, to: bob)))])
    }
}
