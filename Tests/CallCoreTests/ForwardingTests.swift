import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Calls that their callee does not answer, and where they ring then: rule 21.
@Suite final class ForwardingTests {
    let (world, alice, bob, carol) = World.trio("carol")

    private func forward(
        _ user: Handle, busy: CallTarget? = nil, noAnswer: CallTarget? = nil, after: Duration? = nil
    ) {
        #expect(
            world.administer(.forward(user, busy: busy, noAnswer: noAnswer, after: after)) == .success(.done))
    }

    private func forward(_ phone: Phone, to next: Phone, after: Duration? = nil) {
        forward(phone.user, busy: .user(next.user), noAnswer: .user(next.user), after: after)
    }

    private func forwards(_ call: CallID) -> [String] {
        world.store.calls[call]?.forwards.map { forward in
            switch forward.to {
            case .user(let user): "\(forward.reason.rawValue) \(user)"
            case .group(let name): "\(forward.reason.rawValue) group \(name)"
            case .users: "a list"
            }
        } ?? []
    }

    @Test("a call that the callee does not answer in time rings at the target for the call's whole ring time")
    func noAnswer() {
        forward(bob, to: carol, after: .seconds(20))
        let call = alice.call(.user(bob.user), ring: .seconds(30))
        bob.ring(call)
        #expect(world.store.calls[call]?.ringsUntil == world.now + .seconds(20))
        world.advance(.milliseconds(19_999))
        #expect(carol.offers(of: call).isEmpty)
        world.advance(.milliseconds(1))
        #expect(bob.endings(of: call).map(\.reason) == [.ringTimeout])
        #expect(bob.answer(call).code == .callEnded(.ringTimeout))
        #expect(carol.offers(of: call).first?.to == .user(bob.user))
        #expect(forwards(call) == ["ring_timeout carol"])
        #expect(alice.endings(of: call).isEmpty)
        #expect(alice.changes(of: call).last?.expiresAt == world.now + .seconds(30))
        #expect(carol.answer(call).reply == .won)
        #expect(world.store.missed.isEmpty)
    }

    @Test("when the target does not answer either, the call ends, and both have missed it")
    func nobody() {
        forward(bob, to: carol)
        let call = alice.call(bob)
        world.advance(.seconds(45))
        #expect(world.store.calls[call]?.state.isLive == true)
        world.advance(.seconds(45))
        #expect(alice.endings(of: call).map(\.reason) == [.ringTimeout])
        #expect(world.store.missed.map(\.user) == [bob.user, carol.user])
        #expect(world.core.census.deadlines == 1, "only the tombstone's")
    }

    @Test("a busy callee's call goes to the target at once, also when a device says busy")
    func busy() {
        forward(bob, to: carol)
        let first = alice.call(bob)
        bob.decline(first, .busy)
        #expect(carol.offers(of: first).count == 1)
        #expect(forwards(first) == ["busy carol"])
        alice.hangUp(first)
        let dave = world.online("dave")
        world.administer(.setUser(bob.user, UserPolicyChange(callWaiting: false)))
        dave.call(bob)
        let second = alice.call(bob)
        #expect(bob.offers(of: second).isEmpty && carol.offers(of: second).count == 1)
    }

    @Test("a callee without a device that can be reached, or never heard of, is passed over at once")
    func unreachable() throws {
        let asleep = world.asleep("dora")
        forward(asleep.user, noAnswer: .user(carol.user))
        let call = alice.call(asleep)
        world.settle(try world.transmit(call, to: asleep), .rejected(reason: "BadDeviceToken", isTokenDead: true))
        #expect(carol.offers(of: call).count == 1)
        let ghost = Handle("voicemail")!
        forward(ghost, noAnswer: .user(carol.user))
        let other = alice.call(.user(ghost))
        #expect(carol.offers(of: other).count == 1 && forwards(other) == ["unknown_callee carol"])
    }

    @Test("a declined call, and one that the caller gives up, is not forwarded")
    func declined() {
        forward(bob, to: carol)
        let call = alice.call(bob)
        bob.decline(call)
        #expect(alice.endings(of: call).map(\.reason) == [.declined])
        alice.hangUp(alice.call(bob))
        world.administer(.setUser(bob.user, UserPolicyChange(doNotDisturb: true)))
        alice.call(bob)
        #expect(carol.events.isEmpty)
    }

    @Test("calls to lists and groups are not forwarded")
    func lists() {
        forward(bob, to: carol)
        world.administer(.setGroup(CallGroup(name: "desk", strategy: .all, members: [bob.user])))
        for target in [.users([bob.user]), .group("desk")] as [CallTarget] {
            let call = alice.call(target)
            world.advance(.seconds(45))
            #expect(alice.endings(of: call).map(\.reason) == [.ringTimeout])
        }
        #expect(carol.events.isEmpty)
    }

    @Test("a group is a target, and rings as groups do", arguments: [CallGroup.Strategy.all, .hunt])
    func group(_ strategy: CallGroup.Strategy) {
        let dave = world.online("dave")
        let members = [bob.user, carol.user, alice.user, dave.user]
        world.administer(.setGroup(CallGroup(name: "desk", strategy: strategy, members: members)))
        forward(bob.user, noAnswer: .group("desk"))
        let call = alice.call(bob)
        world.advance(.seconds(45))
        #expect(carol.offers(of: call).count == 1 && bob.offers(of: call).count == 1)
        #expect(dave.offers(of: call).count == (strategy == .all ? 1 : 0))
        world.advance(.seconds(15))
        #expect(dave.offers(of: call).count == 1)
        world.restart()
        dave.open()
        #expect(dave.answer(call).reply == .won)
        #expect(alice.offers(of: call).isEmpty, "the caller is no target")
    }

    @Test("a call is forwarded three times at most, and never back")
    func hops() {
        let chain = [bob, carol] + ["dave", "erin", "frank"].map { world.online($0) }
        for (phone, next) in zip(chain, chain.dropFirst()) {
            forward(phone.user, noAnswer: .user(next.user), after: .seconds(5))
        }
        let call = alice.call(bob)
        world.advance(.seconds(15))
        #expect(forwards(call) == ["ring_timeout carol", "ring_timeout dave", "ring_timeout erin"])
        // Erin's calls go no further, so she has the whole time.
        world.advance(.seconds(44))
        #expect(world.store.calls[call]?.state.isLive == true)
        world.advance(.seconds(1))
        #expect(alice.endings(of: call).map(\.reason) == [.ringTimeout])
        #expect(chain[4].offers(of: call).isEmpty)

        forward(carol.user, noAnswer: .user(bob.user))
        let circle = alice.call(bob)
        world.advance(.seconds(5))
        #expect(forwards(circle) == ["ring_timeout carol"])
        world.advance(.seconds(45))
        #expect(alice.endings(of: circle).map(\.reason) == [.ringTimeout])
    }

    @Test("a target that is the caller, blocks the caller or does not exist ends the call as it would have ended")
    func useless() {
        for target in [.user(alice.user), .group("desk")] as [CallTarget] {
            world.administer(.setGroup(CallGroup(name: "desk", strategy: .all, members: [alice.user])))
            forward(bob.user, noAnswer: target)
            world.administer(.deleteGroup("desk"))
            let call = alice.call(bob)
            world.advance(.seconds(45))
            #expect(alice.endings(of: call).map(\.reason) == [.ringTimeout])
        }
        forward(bob, to: carol)
        world.administer(.block(carol.user, [alice.user]))
        let call = alice.call(bob)
        world.advance(.seconds(45))
        #expect(alice.endings(of: call).map(\.reason) == [.declined])
        #expect(world.store.missed.last?.user == bob.user)
    }

    @Test("a device of the callee that comes late does not ring, and its push is not sent any more")
    func late() throws {
        let asleep = world.asleep("bob")
        forward(bob, to: carol, after: .seconds(5))
        let call = alice.call(bob)
        #expect(world.push(call, to: asleep)?.status == .intended)
        world.advance(.seconds(5))
        #expect(world.push(call, to: asleep)?.status == .expired)
        asleep.open()
        #expect(asleep.offers(of: call).isEmpty)
        #expect(world.online("bob").offers(of: call).isEmpty)
        #expect(world.online("carol").offers(of: call).count == 1)
    }

    @Test("a sleeping target is pushed with the time it has; a restart in between changes nothing")
    func asleep() throws {
        let dora = world.asleep("dora")
        forward(bob.user, noAnswer: .user(dora.user))
        let call = alice.call(bob)
        world.restart(downFor: .seconds(50))
        #expect(forwards(call) == ["ring_timeout dora"])
        let push = try #require(world.push(call, to: dora))
        #expect(push.expiresAt == world.now + .seconds(45))
        world.restart()
        try world.transmit(call, to: dora)
        dora.wake(call)
        #expect(dora.answer(call).reply == .won)
    }

    @Test("rules that make no sense are refused")
    func refused() {
        func code(_ busy: CallTarget?, after: Duration? = nil, user: Handle? = nil) -> AdminRefusal.Code? {
            let command = AdminCommand.forward(user ?? bob.user, busy: busy, noAnswer: nil, after: after)
            guard case .failure(let refusal) = world.administer(command) else { return nil }
            return refusal.code
        }
        let alias = Handle("+1")!
        world.administer(.setAlias(Alias(handle: alias, user: bob.user)))
        #expect(code(.user(bob.user)) == .invalidParams)
        #expect(code(.user(alias)) == .invalidParams)
        #expect(code(.users([carol.user])) == .invalidParams)
        #expect(code(.group("desk")) == .notFound)
        #expect(code(.user(carol.user), after: .seconds(20)) == .invalidParams)
        #expect(code(.user(carol.user), user: alias) == .conflict)
        #expect(world.store.rules.values.isEmpty)
    }
}
