import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

@Suite final class CallTimelineTests {
    let (world, alice, bob) = World.pair()

    private func timeline(_ call: CallID) throws -> CallTimeline {
        CallTimeline(
            call: try #require(world.store.calls[call]), legs: world.store.legs(of: call),
            pushes: world.store.pushes.values.filter { $0.call == call })
    }

    @Test("the story of a woken call is told in the order it happened")
    func woken() throws {
        bob.ask(.close)
        let start = world.now
        let call = alice.call(bob)
        world.advance(.milliseconds(5))
        let push = try world.transmit(call, to: bob)
        world.advance(.milliseconds(40))
        world.settle(push, .accepted)
        world.advance(.seconds(2))
        bob.wake(call)
        bob.report(push, call)
        bob.answer(call)
        alice.connected(call)
        world.advance(.milliseconds(10))
        bob.connected(call)
        alice.hangUp(call)
        let entries = try timeline(call).entries
        #expect(
            entries.map(\.step) == [
                .invited, .pushIntended, .pushSent, .pushAccepted, .woken, .offered, .pushReported, .ringing, .answered,
                .callerConnected, .calleeConnected, .connected, .ended,
            ])
        #expect(
            entries.map { $0.at.milliseconds - start.milliseconds } == [
                0, 0, 5, 45, 2045, 2045, 2045, 2045, 2045, 2045, 2055, 2055, 2055,
            ])
        #expect(entries.first?.by == alice.party)
        #expect(entries[5].by == bob.party)
        #expect(entries.last?.detail == "hangup" && entries.last?.by == alice.party)
    }

    @Test("what became of pushes and of the other legs is part of the story")
    func others() throws {
        let (tablet, desk) = (world.asleep("bob"), world.asleep("bob"))
        let call = alice.call(bob)
        let rejected = try world.transmit(call, to: tablet)
        world.settle(rejected, .rejected(reason: "BadDeviceToken", isTokenDead: true))
        let late = try world.transmit(call, to: desk)
        world.settle(late, .unknown(reason: "reset"))
        world.advance(.seconds(16))
        desk.wake(call)
        desk.report(late, call)
        bob.answer(call)
        bob.hangUp(call)
        let entries = try timeline(call).entries
        func details(_ step: CallTimeline.Step) -> [String?] { entries.filter { $0.step == step }.map(\.detail) }
        #expect(details(.pushRejected) == ["BadDeviceToken"])
        #expect(details(.pushReported) == ["reported_late"])
        #expect(details(.legEnded) == ["no_devices", "answered_elsewhere"])
        #expect(details(.ended) == ["hangup"])
        #expect(zip(entries, entries.dropFirst()).allSatisfy { $0.at <= $1.at })
    }
}
