import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// The turns of a hunt: rule 13.
@Suite struct HuntTests {
    let world = World()
    let alice: Phone
    let members: [Phone]

    init() {
        alice = world.phone("alice")
        members = ["bob", "carol", "dave"].map { [world] in world.phone($0) }
        for phone in [alice] + members { phone.open() }
        let group = CallGroup(name: "desk", strategy: .hunt, members: members.map(\.user))
        world.administer(.setGroup(group))
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
