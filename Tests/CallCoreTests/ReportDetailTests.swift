import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// What a device's word, or its silence, does to its pushes and its health: rules 2 and 5.
@Suite final class ReportDetailTests {
    let (world, alice, bob) = World.pair()

    private func report(_ push: PushID, _ call: CallID, _ result: ReportResult) {
        let report = PushReport(push: push, call: call, result: result)
        _ = world.ask(.report(report), as: bob.user, device: bob.id, scope: .call(call))
    }

    private var streak: Int? { world.store.devices[bob.key]?.unreportedStreak }

    @Test("a device that knows of the call is not pushed, whatever it makes of it", arguments: ReportResult.allCases)
    func reportedBeforeThePush(result: ReportResult) throws {
        bob.ask(.close)
        let call = alice.call(bob)
        let push = try #require(world.push(call, to: bob))
        report(push.id, call, result)
        #expect(world.push(call, to: bob)?.status == .cancelled)
        #expect(world.provider.phase(of: push.id) == nil)
        #expect(world.store.calls[call]?.state == (result == .reported ? .ringing : .waking))
    }

    @Test("a report of failure leaves the streak as it is; any other ends it", arguments: ReportResult.allCases)
    func streakAfter(result: ReportResult) throws {
        bob.ask(.close)
        try world.deliver(alice.call(bob), to: bob)
        world.advance(world.timers.report)
        #expect(streak == 1)
        let (call, push) = try alice.call(bob, push: .accepted)
        report(push, call, result)
        #expect(streak == (result == .failed ? 1 : 0))
    }

    @Test("a device is suspended once, when its streak is full, and not again by what was on its way")
    func suspendedOnce() throws {
        bob.ask(.close)
        for _ in 0...world.limits.unreportedStreak {
            try world.deliver(alice.call(bob), to: bob)
            world.advance(.seconds(1))
        }
        world.advance(world.timers.report - .seconds(2))
        let suspended = try #require(world.store.devices[bob.key]?.suspendedAt)
        world.advance(.seconds(2))
        #expect(streak == world.limits.unreportedStreak + 1)
        #expect(world.store.devices[bob.key]?.suspendedAt == suspended)
        #expect(world.core.counters.devicesSuspended == 1)
    }

    @Test("an acknowledgement of what came before the offer is not one of the offer")
    func acknowledgedBefore() {
        let first = alice.call(bob)
        bob.ack()
        let second = alice.call(bob)
        bob.notify(.ack(seq: 1))
        world.advance(world.timers.delivery)
        #expect(world.push(first, to: bob) == nil)
        #expect(world.push(second, to: bob)?.status == .intended)
    }

    @Test("an acknowledgement of several offers ends the wait for each, and is over even if one is not waited for")
    func acknowledgedTogether() throws {
        let calls = [alice.call(bob), alice.call(bob), alice.call(bob)]
        let device = try #require(world.core.directory.user(bob.key.user)?.device(bob.key.device))
        #expect(device.undelivered.count == 3)
        // What must not be.
        device.undelivered[1].deliveryDeadline = nil
        bob.notify(.ack(seq: 3))
        #expect(device.undelivered.isEmpty)
        world.advance(world.timers.delivery)
        for call in [calls[0], calls[2]] { #expect(world.push(call, to: bob) == nil) }
    }

    @Test("a told device whose push was rejected has the time to come back after a restart")
    func rejectedAndRestarted() throws {
        let call = alice.call(bob)
        world.advance(world.timers.delivery)
        let push = try world.transmit(call, to: bob)
        world.settle(push, .rejected(reason: "TooManyRequests", isTokenDead: false))
        world.restart()
        alice.open()
        #expect(world.store.calls[call]?.state == .waking)
        bob.open()
        #expect(bob.answer(call).reply == .won)
    }

    @Test("who is rung already is told on a late device too, whatever was forbidden since")
    func lateDevice() {
        let call = alice.call(bob)
        bob.ring(call)
        world.administer(.setUser(bob.user, UserPolicyChange(doNotDisturb: true)))
        let tablet = world.online("bob")
        #expect(tablet.offers(of: call).count == 1)
        #expect(world.leg(call, of: tablet)?.state == .offered)
    }
}
