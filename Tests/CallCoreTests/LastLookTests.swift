import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Between the commit that says a push is sent and its first byte the core looks once more, however long the commit took.
@Suite final class LastLookTests {
    let (world, alice, bob) = World.pair(bobIsAsleep: true)

    /// What happens while the store stands still.
    enum Event: CaseIterable {
        case nothing, hangUp, callerGone, ringTimeout, answeredElsewhere, ring, decline, report, logout, tokenMoved
        case online, expiredAtClient, admin
    }

    private func happen(_ event: Event, _ call: CallID, _ push: PushID) {
        switch event {
        case .nothing: world.advance(.seconds(7))
        case .hangUp:
            world.advance(.seconds(1))
            alice.hangUp(call)
            world.advance(.seconds(6))
        case .callerGone:
            alice.lose()
            world.advance(.seconds(30))
        case .ringTimeout: world.advance(.seconds(45))
        case .answeredElsewhere:
            let tablet = world.online("bob")
            tablet.answer(call)
        case .ring:
            bob.open()
            bob.ring(call)
        case .decline:
            bob.open()
            bob.decline(call)
        case .report:
            _ = world.ask(
                .report(PushReport(push: push, call: call, result: .reported)), as: bob.user, device: bob.id,
                scope: .call(call))
        case .logout:
            bob.open()
            bob.ask(.logout)
        case .tokenMoved: world.phone("carol", pushable: false).open(sending: bob.tokens)
        case .online: bob.open()
        case .expiredAtClient: world.settle(push, .unsent(reason: "expired"))
        case .admin: world.administer(.endCall(call))
        }
    }

    @Test("a push that is not wanted any more once it is on disk never leaves", arguments: Event.allCases)
    func stalledStore(event: Event) throws {
        let (call, push) = try alice.call(bob, push: .queued)
        world.holdsPushCommits = true
        world.makeReady(push)
        #expect(world.store.pushes[push]?.status == .sent)
        happen(event, call, push)
        world.commitPushes()
        let record = try #require(world.store.pushes[push])
        switch event {
        case .nothing:
            #expect(world.provider.sent[push] == 1 && record.status == .sent)
        case .online:
            #expect(record.status == .intended, "held until the socket proves lost")
            #expect(world.provider.phase(of: push) == nil)
        case .ringTimeout: #expect(record.status == .expired && record.report == nil)
        case .hangUp, .callerGone, .answeredElsewhere, .ring, .decline, .report, .logout, .tokenMoved, .admin,
            .expiredAtClient:
            #expect(record.status == .cancelled && record.report == nil && record.sentAt == nil)
        }
        if event == .nothing {
            world.settle(push, .accepted)
        } else {
            #expect(world.provider.sent[push] == nil)
        }
        world.advance(.seconds(300))
        #expect(world.core.pushes.isEmpty)
    }

    @Test("a crash while the push was taken back leaves it unknown, and it is never sent")
    func crash() throws {
        let push = try alice.call(bob, push: .queued).push
        world.holdsPushCommits = true
        world.makeReady(push)
        world.restart()
        world.holdsPushCommits = false
        #expect(world.store.pushes[push]?.status == .unknown)
        world.makeReady(push)
        #expect(world.provider.sent[push] == nil)
    }

    @Test("a notice that its device has learned of while it was committed never leaves", arguments: [true, false])
    func notice(isAlert: Bool) throws {
        let carol = world.asleep("carol", tokens: [.alert("c")])
        world.administer(
            .setUser(carol.user, UserPolicyChange(missedCalls: isAlert ? .alert : .background)))
        let call = alice.call(carol)
        alice.hangUp(call)
        let push = try #require(world.notices(to: carol).first?.id)
        world.holdsPushCommits = true
        world.makeReady(push)
        carol.open()
        world.commitPushes()
        #expect(world.provider.sent[push] == nil)
        #expect(world.store.pushes[push]?.status == .cancelled)
        carol.ask(.close)
        world.holdsPushCommits = false
        // Its part of the budget is had again.
        for _ in 0..<2 {
            alice.hangUp(alice.call(carol))
            let next = try #require(world.notices(to: carol).first { $0.status == .intended }?.id)
            world.makeReady(next)
            #expect(world.provider.sent[next] == 1)
            world.settle(next, .accepted)
        }
    }
}
