import CallVocabulary
import Determinism
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Calls to many: rules 13, 16 and 17; ``HuntTests`` has hunts.
@Suite struct GroupTests {
    let world = World()
    let alice: Phone
    let members: [Phone]

    init() {
        alice = world.online("alice")
        members = ["bob", "carol", "dave"].map { [world] in world.online($0) }
    }

    private func make(_ phones: [Phone]) {
        let group = CallGroup(name: "desk", strategy: .all, members: phones.map(\.user))
        #expect(world.administer(.setGroup(group)) == .success(.done))
    }

    @Test(
        "each of many devices has its own part: one declines, one wins, and the call knows who may act",
        arguments: [15, 16, 40])
    func many(count: Int) {
        let phones = (0..<count).map { world.online("member\($0)") }
        make(phones)
        let call = alice.call(.group("desk"))
        for phone in phones { #expect(phone.ask(.ringing(call)).error == nil) }
        #expect(phones[0].offers(of: call).first?.to == .group("desk"))
        phones[count / 2].decline(call)
        #expect(world.leg(call, of: phones[count / 2])?.endReason == .declined)
        #expect(phones[count - 1].answer(call).error == nil)
        for phone in phones.dropLast() where phone !== phones[count / 2] {
            #expect(world.leg(call, of: phone)?.endReason == .answeredElsewhere)
        }
        #expect(members[0].ask(.hangup(call, .hangup)).code == .forbidden)
        #expect(phones[count - 1].ask(.hangup(call, .hangup)).error == nil)
        #expect(world.store.calls[call]?.endReason == .hangup && world.store.missed.isEmpty)
        world.advance(world.timers.tombstone)
        #expect(world.core.census.calls == 0 && world.core.census.legs == 0)
    }

    @Test(
        "a group is not a handle, and one that does not exist is an unknown callee; its members are known, devices or not",
        arguments: [
            (CallTarget.user(Handle("desk")!), EndReason.unknownCallee), (.group("nobody"), .unknownCallee),
            (.user(Handle("ghost")!), .noDevices), (.group("desk"), .noDevices),
        ])
    func unknown(target: CallTarget, reason: EndReason) {
        world.administer(.setGroup(CallGroup(name: "desk", strategy: .all, members: [Handle("ghost")!])))
        let call = world.newCall()
        #expect(alice.ask(.invite(Invite(call: call, to: target))).reply == .inviteEnded(call, reason))
    }

    @Test("a change of the group does not touch a call under way, nor does a restart")
    func membership() throws {
        make(Array(members.prefix(2)))
        let call = alice.call(.group("desk"))
        make([members[2]])
        world.restart()
        members[2].open()
        members[0].open()
        #expect(members[2].offers(of: call).isEmpty)
        #expect(members[0].offers(of: call).count == 2)
        #expect(members[0].answer(call).reply == .won)
    }

    @Test("who registers under a handle of the list while it rings is offered the call")
    func lateRegistration() {
        let call = alice.call(.users([members[0].user, Handle("eve")!]))
        let eve = world.online("eve")
        #expect(eve.offers(of: call).count == 1)
        eve.lose()
        eve.resume()
        #expect(eve.offers(of: call).count == 1)
        #expect(eve.answer(call).reply == .won)
    }

    @Test("nobody waits for a handle once the call is over")
    func lateRegistrationAfterEnd() {
        let call = alice.call(.users([members[0].user, Handle("eve")!]))
        #expect(world.core.awaitedHandles == 1)
        alice.hangUp(call)
        #expect(world.core.awaitedHandles == 0)
        let eve = world.online("eve")
        #expect(eve.offers(of: call).isEmpty)
    }

    @Test("a late registration is still awaited after a restart")
    func lateRegistrationAfterRestart() {
        let call = alice.call(.users([members[0].user, Handle("eve")!]))
        world.restart()
        let eve = world.online("eve")
        #expect(eve.offers(of: call).count == 1)
    }

    // MARK: Aliases

    @Test("an alias reaches the user behind it, and says what was called")
    func alias() throws {
        let number = try #require(Handle("+81312345678"))
        world.administer(.setAlias(Alias(handle: number, user: members[0].user)))
        let call = alice.call(.user(number))
        #expect(members[0].offers(of: call).first?.to == .user(number))
        world.restart()
        members[0].open()
        #expect(members[0].answer(call).reply == .won)
    }

    @Test("a user named twice, once by an alias, is rung once")
    func aliasTwice() throws {
        let number = try #require(Handle("+81312345678"))
        world.administer(.setAlias(Alias(handle: number, user: members[0].user)))
        let call = alice.call(.users([number, members[0].user]))
        #expect(members[0].offers(of: call).count == 1)
        #expect(world.core.calls[call]?.legs.count == 1)
    }
}
