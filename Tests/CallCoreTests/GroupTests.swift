import CallVocabulary
import Determinism
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Calls to many: rules 13, 16 and 17.
@Suite struct GroupTests {
    let world = World()
    let alice: Phone
    let members: [Phone]

    init() {
        alice = world.phone("alice")
        members = ["bob", "carol", "dave"].map { [world] in world.phone($0) }
        for phone in [alice] + members { phone.open() }
    }

    private func make(_ strategy: CallGroup.Strategy, _ phones: [Phone]) {
        let group = CallGroup(name: "desk", strategy: strategy, members: phones.map(\.user))
        #expect(world.administer(.setGroup(group)) == .success(.done))
    }

    private func rung(_ call: CallID) -> [Bool] { members.map { !$0.offers(of: call).isEmpty } }

    @Test("a group rings every member at once; the first answer wins and the others are told")
    func all() {
        make(.all, members)
        let call = alice.call(.group("desk"))
        #expect(rung(call) == [true, true, true])
        #expect(members[0].offers(of: call).first?.to == .group("desk"))
        members[1].answer(call)
        #expect(members[0].endings(of: call).map(\.reason) == [.answeredElsewhere])
        #expect(members[2].endings(of: call).map(\.reason) == [.answeredElsewhere])
        #expect(world.store.missed.isEmpty)
    }

    @Test(
        "each of many devices has its own part: one declines, one wins, and the call knows who may act",
        arguments: [15, 16, 40])
    func many(count: Int) {
        let phones = (0..<count).map { world.phone("member\($0)") }
        for phone in phones { phone.open() }
        make(.all, phones)
        let call = alice.call(.group("desk"))
        for phone in phones { #expect(phone.ask(.ringing(call)).error == nil) }
        phones[count / 2].decline(call)
        #expect(world.leg(call, of: phones[count / 2])?.endReason == .declined)
        #expect(phones[count - 1].answer(call).error == nil)
        for phone in phones.dropLast() where phone !== phones[count / 2] {
            #expect(world.leg(call, of: phone)?.endReason == .answeredElsewhere)
        }
        #expect(members[0].ask(.hangup(call, .hangup)).code == .forbidden)
        #expect(phones[count - 1].ask(.hangup(call, .hangup)).error == nil)
        #expect(world.store.calls[call]?.endReason == .hangup)
        world.advance(world.timers.tombstone)
        #expect(world.core.census.calls == 0 && world.core.census.legs == 0)
    }

    @Test("a group is not a handle, and one that does not exist is an unknown callee")
    func unknown() {
        make(.all, members)
        for target in [CallTarget.user(Handle("desk")!), .group("nobody")] {
            let call = world.newCall()
            #expect(
                alice.ask(.invite(Invite(call: call, to: target))).reply == .inviteEnded(call, .unknownCallee))
        }
    }

    @Test("a member who never registered makes the group known, not reachable")
    func noDevices() {
        let ghost = Handle("ghost")!
        world.administer(.setGroup(CallGroup(name: "desk", strategy: .all, members: [ghost])))
        for target in [CallTarget.user(ghost), .group("desk")] {
            let call = world.newCall()
            #expect(alice.ask(.invite(Invite(call: call, to: target))).reply == .inviteEnded(call, .noDevices))
        }
    }

    @Test("a change of the group does not touch a call under way, nor does a restart")
    func membership() throws {
        make(.all, Array(members.prefix(2)))
        let call = alice.call(.group("desk"))
        make(.all, [members[2]])
        world.restart()
        members[2].open()
        members[0].open()
        #expect(members[2].offers(of: call).isEmpty)
        #expect(members[0].offers(of: call).count == 2)
        #expect(members[0].answer(call).reply == .won)
    }

    @Test("the caller's own other devices ring, never the calling one")
    func callerInGroup() {
        let tablet = world.phone("alice")
        tablet.open()
        make(.all, [alice, members[0]])
        let call = alice.call(.group("desk"))
        #expect(alice.offers(of: call).isEmpty && tablet.offers(of: call).count == 1)
        #expect(tablet.answer(call).reply == .won)
        #expect(members[0].endings(of: call).map(\.reason) == [.answeredElsewhere])
    }

    @Test("a self-call rings the other devices, and without any has nobody to ring")
    func selfCall() {
        let call = world.newCall()
        #expect(
            alice.ask(.invite(Invite(call: call, to: .user(alice.user)))).reply == .inviteEnded(call, .noDevices))
        let tablet = world.phone("alice")
        tablet.open()
        let second = alice.call(.user(alice.user))
        #expect(tablet.answer(second).reply == .won)
    }

    @Test("who registers under a handle of the list while it rings is offered the call")
    func lateRegistration() {
        let call = alice.call(.users([members[0].user, Handle("eve")!]))
        let eve = world.phone("eve")
        eve.open()
        #expect(eve.offers(of: call).count == 1)
        eve.lose()
        eve.resume()
        #expect(eve.offers(of: call).count == 1)
        #expect(eve.answer(call).reply == .won)
    }

    @Test("nobody waits for a handle once the call is over")
    func lateRegistrationAfterEnd() {
        let call = alice.call(.users([members[0].user, Handle("eve")!]))
        #expect(world.core.directory.awaitedHandles == 1)
        alice.hangUp(call)
        #expect(world.core.directory.awaitedHandles == 0)
        let eve = world.phone("eve")
        eve.open()
        #expect(eve.offers(of: call).isEmpty)
    }

    @Test("a late registration is still awaited after a restart")
    func lateRegistrationAfterRestart() {
        let call = alice.call(.users([members[0].user, Handle("eve")!]))
        world.restart()
        let eve = world.phone("eve")
        eve.open()
        #expect(eve.offers(of: call).count == 1)
    }

    // MARK: Hunting

    @Test("a hunt rings member after member, and those rung before ring on")
    func hunt() {
        make(.hunt, members)
        let call = alice.call(.group("desk"))
        #expect(rung(call) == [true, false, false])
        world.advance(.milliseconds(14_999))
        #expect(rung(call) == [true, false, false])
        world.advance(.milliseconds(1))
        #expect(rung(call) == [true, true, false])
        world.advance(.seconds(15))
        #expect(rung(call) == [true, true, true])
        #expect(members[0].answer(call).reply == .won)
        #expect(members[1].endings(of: call).count == 1 && members[2].endings(of: call).count == 1)
    }

    @Test("a decline starts the next step at once, and the step after it has its whole time")
    func huntDecline() {
        make(.hunt, members)
        let call = alice.call(.group("desk"))
        world.advance(.seconds(5))
        members[0].decline(call)
        #expect(rung(call) == [true, true, false])
        world.advance(.seconds(14))
        #expect(rung(call) == [true, true, false])
        world.advance(.seconds(1))
        #expect(rung(call) == [true, true, true])
    }

    @Test("when all have declined the call is declined")
    func huntAllDecline() {
        make(.hunt, members)
        let call = alice.call(.group("desk"))
        for phone in members { phone.decline(call) }
        #expect(alice.endings(of: call).map(\.reason) == [.declined])
        #expect(world.core.census.deadlines == 1, "only the tombstone's")
    }

    @Test("an earlier member's decline does not hurry the present one")
    func earlierDecline() {
        make(.hunt, members)
        let call = alice.call(.group("desk"))
        world.advance(.seconds(15))
        members[0].decline(call)
        #expect(rung(call) == [true, true, false])
    }

    @Test("who cannot be rung is passed over: no device, busy, not to be disturbed, unknown")
    func huntSkips() {
        let asleep = world.phone("asleep", pushable: false)
        asleep.open()
        asleep.ask(.close)
        members[0].call(members[1])
        world.administer(.setUser(members[0].user, UserPolicyChange(callWaiting: false)))
        world.administer(.setUser(members[1].user, UserPolicyChange(doNotDisturb: true)))
        let list = [asleep.user, members[0].user, members[1].user, Handle("ghost")!, members[2].user]
        world.administer(.setGroup(CallGroup(name: "desk", strategy: .hunt, members: list)))
        let call = alice.call(.group("desk"))
        #expect(rung(call) == [false, false, true])
        #expect(world.store.calls[call]?.hunt == CallRecord.HuntProgress(rung: 5, nextAt: nil))
    }

    @Test("a push that is refused starts the next step at once")
    func huntRefusedPush() throws {
        members[0].ask(.close)
        make(.hunt, members)
        let call = alice.call(.group("desk"))
        let push = try world.transmit(call, to: members[0])
        #expect(rung(call) == [false, false, false])
        world.settle(push, .rejected(reason: "BadDeviceToken", isTokenDead: true))
        #expect(rung(call) == [false, true, false])
    }

    @Test("a member whose turn has not come is not offered the call on a new session, and has not missed it")
    func huntLate() {
        make(.hunt, members)
        let call = alice.call(.group("desk"))
        members[1].open()
        #expect(members[1].offers(of: call).isEmpty)
        alice.hangUp(call)
        #expect(world.store.missed.map(\.user) == [members[0].user])
    }

    @Test("the ring deadline is over the whole hunt")
    func huntDeadline() {
        make(.hunt, members)
        let call = alice.call(.group("desk"), ring: .seconds(20))
        world.advance(.seconds(20))
        #expect(rung(call) == [true, true, false])
        #expect(alice.endings(of: call).map(\.reason) == [.ringTimeout])
    }

    @Test("a hunt goes on after a restart with the time that is left")
    func huntRestart() {
        make(.hunt, members)
        let call = alice.call(.group("desk"))
        world.advance(.seconds(10))
        world.restart(downFor: .seconds(2))
        members[1].open()
        #expect(members[1].offers(of: call).isEmpty)
        world.advance(.milliseconds(2_999))
        #expect(rung(call) == [true, false, false])
        world.advance(.milliseconds(1))
        #expect(rung(call) == [true, true, false])
    }

    @Test("a step that was due while the server was down is taken at the start")
    func huntOverdue() {
        make(.hunt, members)
        let call = alice.call(.group("desk"))
        world.restart(downFor: .seconds(16))
        #expect(world.store.calls[call]?.hunt?.rung == 2)
        #expect(world.push(call, to: members[1]) != nil)
    }

    @Test("a step that was due together with the ring deadline rings nobody any more")
    func huntOverdueAtDeadline() {
        make(.hunt, members)
        let call = alice.call(.group("desk"))
        world.restart(downFor: .seconds(50))
        #expect(world.store.calls[call]?.endReason == .ringTimeout)
        #expect(world.push(call, to: members[1]) == nil)
        #expect(world.store.missed.map(\.user) == [members[0].user])
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
