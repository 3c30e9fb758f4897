import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Call waiting, do-not-disturb, block lists and what a decline speaks for: rules 9, 11 and 22.
@Suite final class UserPolicyTests {
    let (world, alice, bob, carol) = World.trio("carol")

    private func set(_ phone: Phone, _ change: UserPolicyChange) {
        #expect(world.administer(.setUser(phone.user, change)) == .success(.done))
    }

    private func endOfInvite(_ phone: Phone, _ to: CallTarget) -> EndReason? {
        let call = world.newCall()
        guard case .inviteEnded(call, let reason)? = phone.ask(.invite(Invite(call: call, to: to))).reply else {
            return nil
        }
        #expect(phone.endings(of: call).map(\.reason) == [reason])
        #expect(world.store.calls[call]?.endReason == reason)
        return reason
    }

    @Test("with call waiting a second call is offered beside the first")
    func callWaiting() {
        bob.answer(alice.call(bob))
        #expect(bob.offers(of: carol.call(bob)).count == 1)
    }

    @Test("without it a user is busy in every live call, in either role and ringing too", arguments: 0..<4)
    func busy(_ kind: Int) {
        set(bob, UserPolicyChange(callWaiting: false))
        switch kind {
        case 0: alice.call(bob)
        case 1: bob.answer(alice.call(bob))
        case 2: bob.call(alice)
        default: alice.answer(bob.call(alice))
        }
        #expect(endOfInvite(carol, .user(bob.user)) == .busy)
        #expect(bob.user == world.store.missed.last?.user)
    }

    @Test("a user is free again once the live call has ended, or hangs on nobody")
    func free() {
        set(bob, UserPolicyChange(callWaiting: false))
        let first = alice.call(bob)
        alice.hangUp(first)
        #expect(bob.offers(of: carol.call(bob)).count == 1)
    }

    @Test("a call whose other party has vanished keeps nobody busy for longer than the resume window")
    func lease() {
        set(bob, UserPolicyChange(callWaiting: false))
        let call = alice.call(bob)
        bob.answer(call)
        for phone in [alice, bob] { phone.connected(call) }
        alice.lose()
        #expect(endOfInvite(carol, .user(bob.user)) == .busy)
        world.advance(world.timers.resume)
        #expect(world.store.calls[call]?.endReason == .connectionLost)
        #expect(bob.offers(of: carol.call(bob)).count == 1)
    }

    @Test("in a call that somebody else of the group answered a member is not busy")
    func leftGroup() {
        set(bob, UserPolicyChange(callWaiting: false))
        let dave = world.online("dave")
        let call = alice.call(.users([bob.user, carol.user]))
        carol.answer(call)
        #expect(bob.offers(of: dave.call(bob)).count == 1)
    }

    @Test("a busy member of a list is left out; with nobody else the call is busy")
    func busyMember() {
        set(bob, UserPolicyChange(callWaiting: false))
        bob.call(alice)
        let call = carol.call(.users([bob.user, alice.user]))
        #expect(bob.offers(of: call).isEmpty && alice.offers(of: call).count == 1)
        #expect(endOfInvite(carol, .users([bob.user, bob.user])) == .busy)
    }

    @Test("who is not to be disturbed is not rung, and finds the call as missed")
    func doNotDisturb() {
        set(bob, UserPolicyChange(doNotDisturb: true))
        #expect(endOfInvite(alice, .user(bob.user)) == .declined)
        #expect(bob.events.isEmpty)
        #expect(world.store.missed.map(\.user) == [bob.user])
        let call = alice.call(.users([bob.user, carol.user]))
        #expect(bob.offers(of: call).isEmpty && carol.offers(of: call).count == 1)
        let late = world.online("bob")
        #expect(late.offers(of: call).isEmpty)
    }

    @Test("with decline policy device only that device stops, and the call ends with the last one")
    func declineForOne() {
        set(bob, UserPolicyChange(decline: .device))
        let tablet = world.online("bob")
        let call = alice.call(bob)
        bob.decline(call)
        #expect(bob.endings(of: call).map(\.reason) == [.declined])
        #expect(tablet.endings(of: call).isEmpty)
        #expect(world.store.calls[call]?.state.isLive == true)
        let late = world.online("bob")
        #expect(late.offers(of: call).count == 1)
        tablet.decline(call, .busy)
        #expect(world.store.calls[call]?.state.isLive == true)
        late.decline(call)
        #expect(alice.endings(of: call).map(\.reason) == [.declined])
        #expect(world.store.missed.isEmpty)
    }

    @Test("a change of the policy does not take a device out of a call that it is in already")
    func declineThenChange() {
        set(bob, UserPolicyChange(decline: .device))
        let tablet = world.online("bob")
        let call = alice.call(bob)
        bob.decline(call)
        set(bob, UserPolicyChange(decline: .all))
        tablet.open()
        #expect(tablet.offers(of: call).count == 2)
        let late = world.online("bob")
        #expect(late.offers(of: call).isEmpty)
        #expect(tablet.answer(call).reply == .won)
    }

    @Test("a device that cannot be reached does not outweigh a person's no")
    func declineAndUnreachable() throws {
        set(bob, UserPolicyChange(decline: .device))
        let asleep = world.asleep("bob")
        let call = alice.call(bob)
        let push = try world.transmit(call, to: asleep)
        bob.decline(call)
        world.settle(push, .rejected(reason: "BadDeviceToken", isTokenDead: true))
        #expect(alice.endings(of: call).map(\.reason) == [.declined])
    }

    @Test("a blocked caller's call does not ring and is not missed; in a list only that member is left out")
    func blocked() {
        let alias = Handle("+1")!
        world.administer(.setAlias(Alias(handle: alias, user: alice.user)))
        #expect(world.administer(.block(bob.user, [alias])) == .success(.done))
        #expect(endOfInvite(alice, .user(bob.user)) == .declined)
        let call = alice.call(.users([bob.user, carol.user]))
        #expect(bob.offers(of: call).isEmpty && carol.offers(of: call).count == 1)
        #expect(world.online("bob").offers(of: call).isEmpty)
        alice.hangUp(call)
        #expect(world.store.missed.map(\.user) == [carol.user])
        #expect(bob.offers(of: carol.call(bob)).count == 1)
        #expect(alice.offers(of: bob.call(alice)).count == 1, "the blocked user can be called")
    }

    @Test("a block list survives a restart, and ends with unblock")
    func unblocked() {
        world.administer(.block(bob.user, [alice.user, carol.user]))
        world.restart()
        for phone in [alice, bob, carol] { phone.open() }
        #expect(endOfInvite(alice, .user(bob.user)) == .declined)
        world.administer(.unblock(bob.user, [alice.user]))
        #expect(bob.offers(of: alice.call(bob)).count == 1)
        guard case .success(.user(let view)) = world.administer(.showUser(bob.user)),
            case .failure(let refusal) = world.administer(.unblock(bob.user, [alice.user])),
            case .failure(let itself) = world.administer(.block(bob.user, [bob.user]))
        else {
            Issue.record("an odd answer")
            return
        }
        #expect(view.rules.blocked == [carol.user])
        #expect(refusal.code == .notFound && itself.code == .invalidParams)
    }

    @Test("a block list has room for a thousand")
    func most() {
        let callers = (0..<CallRules.mostBlocked).map { Handle("caller\($0)")! }
        #expect(world.administer(.block(bob.user, callers)) == .success(.done))
        #expect(world.administer(.block(bob.user, callers)) == .success(.done))
        guard case .failure(let refusal) = world.administer(.block(bob.user, [alice.user])) else {
            Issue.record("too many are blocked")
            return
        }
        #expect(refusal.code == .limitReached)
    }

    @Test("calls are forwarded to a group by the bytes of its name, which may be another form of the same text")
    func formsOfUnicode() {
        let names = ["caf\u{e9}", "cafe\u{301}"]
        for name in names {
            world.administer(.setGroup(CallGroup(name: name, strategy: .all, members: [carol.user])))
        }
        for name in names {
            let command = AdminCommand.forward(bob.user, busy: .group(name), noAnswer: nil, after: nil)
            #expect(world.administer(command) == .success(.done))
            guard case .success(.user(let view)) = world.administer(.showUser(bob.user)),
                case .group(let stored)? = view.rules.forwardBusy
            else {
                Issue.record("no target")
                return
            }
            #expect(stored.utf8.elementsEqual(name.utf8))
        }
        #expect(CallTarget.group(names[0]) != .group(names[1]) && CallTarget.group("a") == .group("a"))
        #expect(CallTarget.group("a") != .user(Handle("a")!) && CallTarget.users([bob.user]) != .user(bob.user))
    }

    @Test("in a glare a call that its callee refuses does not win", arguments: [true, false])
    func glare(_ blocks: Bool) {
        let (low, high) = (CallID(high: 0, low: 1), CallID(high: 0, low: 2))
        bob.call(.user(alice.user), id: high)
        world.administer(
            blocks ? .block(bob.user, [alice.user]) : .setUser(bob.user, UserPolicyChange(doNotDisturb: true)))
        alice.call(.user(bob.user), id: low)
        #expect(alice.endings(of: low).map(\.mergedInto) == [high])
        #expect(bob.endings(of: high).isEmpty)
    }

    @Test("policies survive a restart")
    func restart() {
        set(bob, UserPolicyChange(callWaiting: false, decline: .device, doNotDisturb: true))
        world.restart()
        guard case .success(.user(let view)) = world.administer(.showUser(bob.user)) else {
            Issue.record("no such user")
            return
        }
        #expect(!view.policy.callWaiting && view.policy.decline == .device && view.policy.doNotDisturb)
    }
}
