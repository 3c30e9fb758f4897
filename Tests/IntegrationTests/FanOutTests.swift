import CallCore
import CallServer
import CallStore
import CallVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("A call to several users", .world)
struct FanOutTests {
    @Test("rings a hundred and fifty members; one answers, and each of the others is told who, once")
    func manyMembers() async throws {
        let server = try await world.startServer { $0.shards = 2 }
        let alice = try await world.onlinePhone("alice", at: server.address)
        var members: [Phone] = []
        for number in 0..<150 { members.append(try await world.phone("member\(number)", at: server.address)) }
        for member in members { member.softphone.start() }
        for member in members { try await member.softphone.connect() }
        let call = try await alice.softphone.call(.users((0..<150).map { Handle(stringLiteral: "member\($0)") }))
        for member in members { try await member.rings(call) }
        try await members[77].softphone.answer(call)
        let winner = try #require(try await alice.state(.answered, of: call).by)
        #expect(winner.user == "member77")
        for (number, member) in members.enumerated() where number != 77 {
            let lost = try await member.ended(call)
            #expect(lost.reason == .answeredElsewhere)
            #expect(lost.by == winner)
        }
        try await alice.softphone.hangup(call)
        #expect(try await members[77].ended(call).reason == .hangup)
        for member in members {
            #expect(member.timesRung == 1)
            #expect(member.events.entries.count { $0.call(call, in: .ended) != nil } == 1)
        }
        // This load uses the journal; the tables are complete after the stop.
        await server.stop()
        let legs = try #require(try world.reader().call(call)?.legs)
        #expect(legs.count == 150)
        #expect(legs.count { $0.answeredAt != nil } == 1)
    }

    @Test("continues until the last member has declined, and ends with declined")
    func allDecline() async throws {
        let server = try await world.startServer()
        let alice = try await world.onlinePhone("alice", at: server.address)
        let bob = try await world.onlinePhone("bob", at: server.address)
        let bobsOther = try await world.onlinePhone("bob", at: server.address)
        let carol = try await world.onlinePhone("carol", at: server.address)
        let call = try await alice.softphone.call(.users(["bob", "carol"]))
        for phone in [bob, bobsOther, carol] { try await phone.rings(call) }
        try await bob.softphone.decline(call)
        #expect(try await bob.ended(call).reason == .declined)
        #expect(try await bobsOther.ended(call).reason == .declinedElsewhere)
        #expect(try world.reader().calls().map(\.state) == [.ringing])
        try await carol.softphone.decline(call, reason: .dnd)
        let ended = try await alice.ended(call)
        #expect(ended.reason == .declined)
        #expect(ended.by?.user == "carol")
    }

    @Test("with the caller among the members rings the caller's other devices, never the calling one")
    func callerAmongMembers() async throws {
        let server = try await world.startServer()
        let calling = try await world.onlinePhone("alice", at: server.address)
        let other = try await world.onlinePhone("alice", at: server.address)
        let bob = try await world.onlinePhone("bob", at: server.address)
        let call = try await calling.softphone.call(.users(["bob", "alice"]))
        try await bob.rings(call)
        try await other.rings(call)
        try await other.softphone.answer(call)
        let winner = try #require(try await calling.state(.answered, of: call).by)
        #expect(winner.device == other.softphone.configuration.session.device.id)
        #expect(try await bob.ended(call).reason == .answeredElsewhere)
        #expect(try await calling.hangUp(call, seenBy: other) == .hangup)
        #expect(calling.timesRung == 0)

        // A call to oneself, too; without another device it ends with no_devices.
        let own = try await calling.softphone.call(.user("alice"))
        try await other.rings(own)
        try await other.softphone.decline(own)
        #expect(try await calling.ended(own).reason == .declined)
        await other.softphone.disconnect()
        await #expect(throws: SoftphoneError.callEnded(.noDevices)) {
            try await calling.softphone.call(.user("alice"))
        }
        #expect(calling.timesRung == 0)
    }

    @Test("is offered to a device that connects late, and to a previously unknown member; the late one answers")
    func lateRegistration() async throws {
        let server = try await world.startServer()
        let alice = try await world.onlinePhone("alice", at: server.address)
        let bob = try await world.onlinePhone("bob", at: server.address)
        let call = try await alice.softphone.call(.users(["bob", "carol"]), sdp: .text("offer"))
        try await bob.rings(call)
        let late = try await world.phone("bob", at: server.address)
        #expect(try await late.softphone.connect().calls.map(\.call) == [call])
        #expect(try await late.rings(call).sdp == .text("offer"))
        let carol = try await world.onlinePhone("carol", at: server.address)
        #expect(try await carol.rings(call).sdp == .text("offer"))
        try await carol.softphone.answer(call)
        #expect(try await alice.state(.answered, of: call).by?.user == "carol")
        for phone in [bob, late] { #expect(try await phone.ended(call).reason == .answeredElsewhere) }
        // After the answer it is no longer offered.
        let tooLate = try await world.phone("bob", at: server.address)
        #expect(try await tooLate.softphone.connect().calls == [])
        #expect(try await alice.hangUp(call, seenBy: carol) == .hangup)
        #expect(tooLate.timesRung == 0)
        #expect(try world.reader().call(call)?.legs.count == 3)
    }

    @Test("rings out on every ringing device, and each user has a missed call")
    func ringsOut() async throws {
        let server = try await world.startServer { $0.timers.ring = .seconds(1) }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let members = [
            try await world.onlinePhone("bob", at: server.address),
            try await world.onlinePhone("bob", at: server.address),
            try await world.onlinePhone("carol", at: server.address),
        ]
        let call = try await alice.softphone.call(.users(["bob", "carol"]))
        _ = try await eventually("all have rung") {
            try world.reader().call(call).flatMap { $0.legs.allSatisfy { $0.ringingAt != nil } ? true : nil }
        }
        for phone in members + [alice] {
            let ended = try await phone.ended(call)
            #expect(ended.reason == .ringTimeout)
            #expect(ended.callKitReason == "unanswered")
        }
        for user in ["bob", "carol"] {
            let opened = try await world.phone(user, at: server.address).softphone.connect()
            #expect(opened.missed.map(\.call) == [call])
        }
        let stored = try #require(try world.reader().calls().first)
        #expect(try #require(stored.endedAt) >= stored.ringsUntil)
    }
}
