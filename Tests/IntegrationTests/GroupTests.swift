import CallCore
import CallServer
import CallStore
import CallVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("A group", .world)
struct GroupTests {
    @Test("that rings all rings every member at once, and the caller's other devices; one answers for the group")
    func all() async throws {
        try await world.seed([
            .group(CallGroup(name: "support", strategy: .all, members: ["bob", "carol", "alice"]))
        ])
        let server = try await world.startServer()
        let (calling, other) = (
            try await world.onlinePhone("alice", at: server.address),
            try await world.onlinePhone("alice", at: server.address)
        )
        let members = [
            try await world.onlinePhone("bob", at: server.address),
            try await world.onlinePhone("carol", at: server.address),
            other,
        ]
        let call = try await calling.softphone.call(.group("support"))
        for phone in members { #expect(try await phone.rings(call).to == .group("support")) }
        try await members[1].softphone.answer(call)
        #expect(try await calling.state(.answered, of: call).by?.user == "carol")
        for phone in [members[0], other] {
            let lost = try await phone.ended(call)
            #expect(lost.reason == .answeredElsewhere)
            #expect(lost.by?.user == "carol")
        }
        try await calling.softphone.hangup(call)
        #expect(try await members[1].ended(call).reason == .hangup)
        #expect(calling.timesRung == 0)
        #expect(try world.reader().calls().map(\.members) == [["bob", "carol", "alice"]])
        await #expect(throws: SoftphoneError.callEnded(.unknownCallee)) {
            try await calling.softphone.call(.group("nobody"))
        }
    }

    @Test("that hunts rings one member after the other; earlier members keep ringing, and one answers")
    func huntInSteps() async throws {
        let step = Duration.milliseconds(400)
        let (alice, members) = try await hunt(step: step)
        let call = try await alice.softphone.call(.group("support"))
        for member in members { try await member.rings(call) }
        let legs = try #require(try world.reader().call(call)?.legs)
        #expect(legs.map(\.device.user) == ["bob", "carol", "dave"])
        for (earlier, later) in zip(legs, legs.dropFirst()) {
            #expect(later.createdAt - earlier.createdAt >= step)
        }
        try await members[0].softphone.answer(call)
        #expect(try await alice.state(.answered, of: call).by?.user == "bob")
        for phone in members.dropFirst() { #expect(try await phone.ended(call).reason == .answeredElsewhere) }
        try await alice.softphone.hangup(call)
        #expect(try await members[0].ended(call).reason == .hangup)
    }

    @Test("that hunts continues at once when the last rung member declines, and ends with the last decline")
    func huntGoesOn() async throws {
        // Longer than any test, so only a decline rings the next member.
        let (alice, members) = try await hunt(step: .seconds(120))
        let call = try await alice.softphone.call(.group("support"))
        for (index, phone) in members.enumerated() {
            try await phone.rings(call)
            #expect(members[(index + 1)...].allSatisfy { $0.timesRung == 0 })
            try await phone.softphone.decline(call)
            #expect(try await phone.ended(call).reason == .declined)
        }
        let ended = try await alice.ended(call)
        #expect(ended.reason == .declined)
        #expect(ended.by?.user == "dave")
    }

    /// A caller, and three online members of a hunt group.
    private func hunt(step: Duration) async throws -> (Phone, [Phone]) {
        try await world.seed([.group(CallGroup(name: "support", strategy: .hunt, members: ["bob", "carol", "dave"]))])
        let server = try await world.startServer { $0.timers.huntStep = step }
        let alice = try await world.onlinePhone("alice", at: server.address)
        var members: [Phone] = []
        for user in ["bob", "carol", "dave"] { members.append(try await world.onlinePhone(user, at: server.address)) }
        return (alice, members)
    }
}
