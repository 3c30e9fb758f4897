import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// The turns of a hunt: rule 13.
@Suite struct HuntTests {
    let world = World()
    let alice: Phone
    let members: [Phone]

    init() {
        alice = world.online("alice")
        members = ["bob", "carol", "dave"].map { [world] in world.online($0) }
        let group = CallGroup(name: "desk", strategy: .hunt, members: members.map(\.user))
        world.administer(.setGroup(group))
    }

    private func rung(_ call: CallID) -> [Bool] { members.map { !$0.offers(of: call).isEmpty } }

    @Test("a hunt rings member after member, and those rung before ring on")
    func order() {
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
    func decline() {
        let call = alice.call(.group("desk"))
        world.advance(.seconds(5))
        members[0].decline(call)
        #expect(rung(call) == [true, true, false])
        world.advance(.seconds(14))
        #expect(rung(call) == [true, true, false])
        world.advance(.seconds(1))
        #expect(rung(call) == [true, true, true])
    }

    @Test("members in a row that cannot be rung are written once, as each record has the whole list")
    func unreachable() throws {
        let erin = world.asleep("erin")
        let nobody = (0..<300).map { Handle("nobody\($0)")! }  // Handles.
        let group = CallGroup(name: "long", strategy: .hunt, members: nobody + [erin.user] + nobody.map { other($0) })
        world.administer(.setGroup(group))
        let before = world.callRecords
        let call = alice.call(.group("long"))
        try world.deliver(call, to: erin)
        #expect(world.callRecords - before < 10)
        let declined = world.callRecords
        #expect(world.ask(.decline(call, .declined), as: erin.user, device: erin.id, scope: .call(call))?.code == nil)
        #expect(alice.endings(of: call).count == 1)
        #expect(world.callRecords - declined < 10)
    }

    private func other(_ handle: Handle) -> Handle { Handle("\(handle.text)b")! }  // A handle.

    @Test("when all have declined the call is declined")
    func allDecline() {
        let call = alice.call(.group("desk"))
        for phone in members { phone.decline(call) }
        #expect(alice.endings(of: call).map(\.reason) == [.declined])
        #expect(world.core.census.deadlines == 1, "only the tombstone's")
    }

    @Test("an earlier member's decline does not hurry the present one")
    func earlierDecline() {
        let call = alice.call(.group("desk"))
        world.advance(.seconds(15))
        members[0].decline(call)
        #expect(rung(call) == [true, true, false])
    }

    @Test("who cannot be rung is passed over: no device, busy, not to be disturbed, unknown")
    func skips() {
        let asleep = world.asleep("asleep", pushable: false)
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
    func refusedPush() throws {
        members[0].ask(.close)
        let call = alice.call(.group("desk"))
        let push = try world.transmit(call, to: members[0])
        #expect(rung(call) == [false, false, false])
        world.settle(push, .rejected(reason: "BadDeviceToken", isTokenDead: true))
        #expect(rung(call) == [false, true, false])
    }

    @Test("a member whose turn has not come is not offered the call on a new session, and has not missed it")
    func late() {
        let call = alice.call(.group("desk"))
        members[1].open()
        #expect(members[1].offers(of: call).isEmpty)
        alice.hangUp(call)
        #expect(world.store.missed.map(\.user) == [members[0].user])
    }

    @Test("the ring deadline is over the whole hunt")
    func deadline() {
        let call = alice.call(.group("desk"), ring: .seconds(20))
        world.advance(.seconds(20))
        #expect(rung(call) == [true, true, false])
        #expect(alice.endings(of: call).map(\.reason) == [.ringTimeout])
    }

    @Test("a delay of a member takes the place of the hunt's step before it")
    func delays() {
        var group = CallGroup(name: "desk", strategy: .hunt, members: members.map(\.user))
        group.delays = [members[1].user: .seconds(4), members[0].user: .seconds(60)]
        world.administer(.setGroup(group))
        let call = alice.call(.group("desk"))
        #expect(rung(call) == [true, false, false])
        world.advance(.milliseconds(3_999))
        #expect(rung(call) == [true, false, false])
        world.advance(.milliseconds(1))
        #expect(rung(call) == [true, true, false])
        world.advance(.milliseconds(14_999))
        #expect(rung(call) == [true, true, false])
        world.advance(.milliseconds(1))
        #expect(rung(call) == [true, true, true])
    }

    @Test("in a group that rings all at once a delay counts from the start; a restart in between changes nothing")
    func delaysOfAll() {
        let erin = world.online("erin")
        var group = CallGroup(name: "desk", strategy: .all, members: members.map(\.user) + [erin.user])
        group.delays = [members[0].user: .seconds(9), members[1].user: .seconds(4)]
        world.administer(.setGroup(group))
        let call = alice.call(.group("desk"))
        #expect(rung(call) == [false, false, true] && erin.offers(of: call).count == 1)
        world.administer(.deleteGroup("desk"))
        world.restart(downFor: .seconds(4))
        for phone in members { phone.open() }
        #expect(rung(call) == [false, true, true])
        world.advance(.milliseconds(4_999))
        #expect(rung(call) == [false, true, true])
        world.advance(.milliseconds(1))
        #expect(rung(call) == [true, true, true])
    }

    @Test("members with a delay ring at once when nobody else of the group can be rung, or all have declined")
    func idleDelays() {
        var group = CallGroup(name: "desk", strategy: .all, members: members.map(\.user))
        group.delays = [members[1].user: .seconds(9), members[2].user: .seconds(9)]
        world.administer(.setGroup(group))
        let first = alice.call(.group("desk"))
        members[0].decline(first)
        #expect(rung(first) == [true, true, true])
        world.administer(.setUser(members[0].user, UserPolicyChange(doNotDisturb: true)))
        #expect(rung(alice.call(.group("desk"))) == [false, true, true])
    }

    @Test("while a member rings, a delay from the start stays as it is when others decline or cannot be reached")
    func delaysWhileOthersRing() {
        let (erin, frank) = (world.asleep("erin", pushable: false), world.online("frank"))
        let all = members.map(\.user) + [erin.user, frank.user]
        let delays = [members[1].user: 4, erin.user: 6, members[2].user: 9, frank.user: 20]
        world.administer(
            .setGroup(
                CallGroup(name: "desk", strategy: .all, members: all, delays: delays.mapValues { .seconds($0) })))
        let call = alice.call(.group("desk"))
        world.advance(.seconds(4))
        members[1].decline(call)
        world.advance(.milliseconds(4_999))
        #expect(rung(call) == [true, true, false])
        world.advance(.milliseconds(1))
        #expect(rung(call) == [true, true, true])
        members[0].decline(call)
        world.restart(downFor: .seconds(10))
        frank.open()
        #expect(frank.offers(of: call).isEmpty)
        world.advance(.seconds(1))
        #expect(frank.offers(of: call).count == 1)
    }

    @Test("a member who rings early because nobody else can does not bring the later ones forward")
    func earlyTurn() {
        var group = CallGroup(name: "desk", strategy: .all, members: members.map(\.user))
        group.delays = [members[0].user: .seconds(3), members[1].user: .seconds(9), members[2].user: .seconds(20)]
        world.administer(.setGroup(group))
        let call = alice.call(.group("desk"))
        #expect(rung(call) == [true, false, false])
        world.advance(.seconds(1))
        members[0].decline(call)
        #expect(rung(call) == [true, true, false])
        world.advance(.milliseconds(18_999))
        #expect(rung(call) == [true, true, false])
        world.advance(.milliseconds(1))
        #expect(rung(call) == [true, true, true])
    }

    @Test("turns of one group that were all due while the server was down are taken at the start")
    func overdueDelays() {
        var group = CallGroup(name: "desk", strategy: .all, members: members.map(\.user))
        group.delays = [members[1].user: .seconds(4), members[2].user: .seconds(9)]
        world.administer(.setGroup(group))
        let call = alice.call(.group("desk"))
        world.restart(downFor: .seconds(10))
        #expect(world.store.calls[call]?.hunt == CallRecord.HuntProgress(rung: 3, nextAt: nil))
        #expect(world.push(call, to: members[2]) != nil)
    }

    @Test("a delay of somebody who is no member, or over ten minutes, is refused")
    func oddDelays() {
        for (handle, delay) in [(alice.user, Duration.seconds(1)), (members[0].user, .seconds(601))] {
            let group = CallGroup(name: "desk", strategy: .all, members: [members[0].user], delays: [handle: delay])
            guard case .failure(let refusal) = world.administer(.setGroup(group)) else {
                Issue.record("\(handle) has a delay of \(delay)")
                return
            }
            #expect(refusal.code == .invalidParams)
        }
    }

    @Test("a hunt goes on after a restart with the time that is left")
    func restart() {
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
    func overdue() {
        let call = alice.call(.group("desk"))
        world.restart(downFor: .seconds(16))
        #expect(world.store.calls[call]?.hunt?.rung == 2)
        #expect(world.push(call, to: members[1]) != nil)
    }

    @Test("a step that was due together with the ring deadline rings nobody any more")
    func overdueAtDeadline() {
        let call = alice.call(.group("desk"))
        world.restart(downFor: .seconds(50))
        #expect(world.store.calls[call]?.endReason == .ringTimeout)
        #expect(world.push(call, to: members[1]) == nil)
        #expect(world.store.missed.map(\.user) == [members[0].user])
    }

    @Test("a member in the middle who cannot be rung is passed over at once", arguments: [true, false])
    func passedOver(declined: Bool) {
        world.administer(.setUser(members[1].user, UserPolicyChange(doNotDisturb: true)))
        let call = alice.call(.group("desk"))
        if declined { members[0].decline(call) } else { world.advance(world.timers.huntStep) }
        #expect(members[1].offers(of: call).isEmpty)
        #expect(members[2].offers(of: call).count == 1)
        #expect(world.store.calls[call]?.hunt == CallRecord.HuntProgress(rung: 3, nextAt: nil))
    }

    @Test("after the answer nobody's turn comes any more, and nothing of the call is due but its connection")
    func answerEndsIt() {
        let call = alice.call(.group("desk"))
        members[0].answer(call)
        #expect(world.core.calls[call]?.huntDeadline == nil)
        let written = world.store.calls[call]
        world.advance(world.timers.huntStep)
        #expect(world.store.calls[call] == written)
        #expect(members[1].offers(of: call).isEmpty)
    }
}
