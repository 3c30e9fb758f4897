import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// The push ledger: when a device is pushed, and what becomes of the push on both axes.
@Suite final class PushLedgerTests {
    let (world, alice, bob) = World.pair(bobIsAsleep: true)

    private func expect(
        _ push: PushID, _ status: ProviderStatus, _ report: ReportStatus?, _ line: SourceLocation = #_sourceLocation
    ) {
        let record = world.store.pushes[push]
        #expect(record?.status == status, sourceLocation: line)
        #expect(record?.report == report, sourceLocation: line)
        #expect(world.core.ledger.count(status, report) == 1, sourceLocation: line)
    }

    @Test("an asleep callee: push, wake, report, ring, answer, connect")
    func wholeWay() throws {
        let call = alice.call(bob, sdp: "1")
        #expect(world.store.calls[call]?.state == .waking)
        #expect(bob.events.isEmpty)
        let id = try world.transmit(call, to: bob)
        expect(id, .sent, .awaited)
        world.settle(id, .accepted)
        expect(id, .accepted, .awaited)
        world.advance(.seconds(3))
        bob.wake(call)
        #expect(bob.snapshot(of: call)?.state == .waking)
        #expect(bob.offers(of: call).map(\.push) == [id])
        #expect(bob.offers(of: call).map(\.sdp) == [RawJSON("1")])
        #expect(world.leg(call, of: bob)?.wokenAt == world.now)
        #expect(bob.report(id, call).reply == .callState(.ringing, nil))
        expect(id, .accepted, .reported)
        #expect(alice.states(of: call) == [.ringing])
        bob.answer(call)
        bob.connect(call, with: alice)
        #expect(alice.states(of: call) == [.ringing, .answered, .connected])
        world.advance(.seconds(60))
        #expect(world.core.ledger.count(.unreported) == 0)
    }

    @Test("a push order carries the call, the ring deadline, and when its token was registered")
    func order() throws {
        let registered = world.now
        alice.open(name: "Alice A.")
        world.advance(.seconds(7))
        let call = alice.call(.user(bob.user), custom: "{\"a\":1}")
        let id = try #require(world.push(call, to: bob)?.id)
        let order = try #require(world.provider.orders[id])
        #expect(order.call == call && order.user == bob.user && order.device == bob.id)
        #expect(order.token == bob.tokens[0] && order.tokenRegisteredAt == registered)
        #expect(order.from == alice.user && order.fromName == "Alice A." && order.custom == RawJSON("{\"a\":1}"))
        #expect(order.expiresAt == world.now + .seconds(45))
    }

    @Test("a push client that gives up at the ring deadline, before the core does, leaves the call to its ring_timeout")
    func expiresFirstAtTheClient() throws {
        let (call, id) = try alice.call(bob, push: .queued)
        world.stall(.seconds(45))
        world.settle(id, .unsent(reason: "expired after no connection"))
        expect(id, .expired, nil)
        world.advance(.zero)
        #expect(alice.endings(of: call).map(\.reason) == [.ringTimeout])
    }

    @Test("rule 5: at the ring deadline a push goes out no more, whoever comes first")
    func lateReady() throws {
        let id = try alice.call(bob, push: .queued).push
        world.stall(.seconds(45))
        world.makeReady(id)
        #expect(world.provider.sent[id] == nil)
        expect(id, .expired, nil)
    }

    @Test(
        "a report before the provider's answer proves delivery, whatever that answer says",
        arguments: [
            PushOutcome.accepted, .unknown(reason: "reset"), .rejected(reason: "BadDeviceToken", isTokenDead: true),
            .unsent(reason: "expired"),
        ])
    func reportFirst(outcome: PushOutcome) throws {
        let (call, id) = try alice.call(bob, push: .onWire)
        bob.wake(call)
        bob.report(id, call)
        expect(id, .sent, .reported)
        world.settle(id, outcome)
        expect(id, .accepted, .reported)
        let record = try #require(world.store.pushes[id])
        #expect((record.answeredAt != nil) == (outcome == .accepted), "an answer is the provider's")
        #expect((record.reason != nil) == (outcome != .accepted))
        #expect(record.reason?.hasPrefix("the device reported it; ") != false, "the proof first")
        let steps = CallTimeline(call: try #require(world.store.calls[call]), legs: [], pushes: [record]).entries
        #expect(steps.contains { $0.step == .pushAccepted } == (outcome == .accepted))
        #expect(world.store.devices[bob.key]?.tokens.count == 1)
        alice.hangUp(call)
        world.advance(.seconds(300))
        #expect(world.core.pushes.isEmpty)
    }

    @Test("a report before the push comes back: it is not sent again")
    func reportThenReturned() throws {
        let (call, id) = try alice.call(bob, push: .onWire)
        bob.wake(call)
        bob.report(id, call, .filtered)
        world.settle(id, .returned)
        world.makeReady(id)
        #expect(world.provider.sent[id] == 1)
        expect(id, .accepted, .filtered)
    }

    @Test("an overdue report is given up at its time, and a late one is still taken")
    func lateReport() throws {
        let (call, id) = try alice.call(bob, push: .onWire)
        world.advance(.seconds(4))
        world.settle(id, .accepted)
        world.advance(.milliseconds(14_999))
        expect(id, .accepted, .awaited)
        world.advance(.milliseconds(1))
        expect(id, .accepted, .unreported)
        #expect(world.store.devices[bob.key]?.unreportedStreak == 1)
        bob.wake(call)
        bob.report(id, call)
        expect(id, .accepted, .reportedLate)
        #expect(world.store.devices[bob.key]?.unreportedStreak == 0)
    }

    @Test("a push that comes back unprocessed goes out again, if it is wanted")
    func returned() throws {
        let (call, id) = try alice.call(bob, push: .onWire)
        world.settle(id, .returned)
        expect(id, .intended, nil)
        world.makeReady(id)
        #expect(world.provider.sent[id] == 2)
        world.settle(id, .returned)
        alice.hangUp(call)
        expect(id, .cancelled, nil)
        #expect(world.provider.phase(of: id) == nil)
    }

    @Test("a device whose push failed is offered the call when it comes by itself")
    func comesByItself() throws {
        world.online("bob")
        let (call, id) = try alice.call(bob, push: .onWire)
        world.settle(id, .rejected(reason: "BadDeviceToken", isTokenDead: true))
        #expect(world.leg(call, of: bob)?.endReason == .noDevices)
        #expect(alice.endings(of: call).isEmpty)
        bob.open()
        #expect(bob.offers(of: call).count == 1)
        #expect(bob.answer(call).reply == .won)
        #expect(world.store.pushes.values.count { $0.device == bob.key } == 1)
    }

    @Test("a push failed while the device was away in its resume window: the call ends when that is over")
    func failedInResumeWindow() throws {
        bob.open()
        let call = alice.call(bob)
        bob.lose()
        let id = try world.transmit(call, to: bob)
        world.settle(id, .rejected(reason: "BadDeviceToken", isTokenDead: true))
        #expect(alice.endings(of: call).isEmpty)
        world.advance(.seconds(30))
        #expect(alice.endings(of: call).map(\.reason) == [.noDevices])
    }

    enum SignOfLife: CaseIterable { case ack, ring, answer, report, notRequired }

    @Test("any sign of life in time saves the push", arguments: SignOfLife.allCases)
    func signOfLife(_ sign: SignOfLife) throws {
        bob.open()
        let call = alice.call(bob)
        let offer = try #require(bob.offers(of: call).first)
        world.advance(.seconds(1))
        switch sign {
        case .ack: bob.ack()
        case .ring: bob.ring(call)
        case .answer: bob.answer(call)
        case .report: bob.report(offer.push!, call)
        case .notRequired: bob.report(offer.push!, call, .notRequired)
        }
        world.advance(.seconds(10))
        #expect(world.push(call, to: bob) == nil)
        if sign == .ack || sign == .notRequired {
            bob.lose()
            #expect(world.push(call, to: bob)?.status == .intended)
        }
    }

    @Test("a device that comes online by itself is told, and its queued push is held until that proves lost")
    func heldPush() throws {
        let id = try alice.call(bob, push: .queued).push
        bob.open()
        world.makeReady(id)
        #expect(world.provider.sent[id] == nil)
        expect(id, .intended, nil)
        world.advance(.seconds(2))
        #expect(world.provider.waiting == [id])
        bob.ack()
        world.makeReady(id)
        #expect(world.provider.sent[id] == nil)
        bob.lose()
        world.makeReady(id)
        expect(id, .sent, .awaited)
    }

    @Test("an answer on the way withdraws the push that is still queued")
    func answersFirst() throws {
        let (call, id) = try alice.call(bob, push: .queued)
        bob.open()
        bob.answer(call)
        expect(id, .cancelled, nil)
        #expect(world.provider.phase(of: id) == nil)
    }

    @Test("a token that another device has registered meanwhile is not pushed to", arguments: [true, false])
    func tokenMoved(hasAnother: Bool) throws {
        let (call, id) = try alice.call(bob, push: .queued)
        let spare = PushToken.voip("spare")
        if hasAnother {
            bob.open(sending: bob.tokens + [spare])
            bob.lose()
        }
        world.online("mallory", tokens: [bob.tokens[0]])
        #expect(world.store.devices[bob.key]?.tokens.map(\.token) == (hasAnother ? [spare] : []))
        world.makeReady(id)
        #expect(world.provider.sent[id] == nil)
        guard hasAnother else {
            expect(id, .cancelled, nil)
            #expect(alice.endings(of: call).map(\.reason) == [.noDevices])
            return
        }
        #expect(world.provider.orders[id]?.token == spare)
        world.makeReady(id)
        expect(id, .sent, .awaited)
    }

    @Test("an unanswered push client query for something long gone is dropped")
    func staleReady() {
        let id = world.newPush()
        world.makeReady(id)
        #expect(world.provider.sent.isEmpty)
        world.settle(id, .accepted)
        #expect(world.core.ledger.intended == 0)
    }
}
