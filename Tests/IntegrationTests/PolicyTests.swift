import CallCore
import CallServer
import CallStore
import CallVocabulary
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("A user with a policy", .world)
struct PolicyTests {
    @Test("of declining on one device alone still rings on the other; the call ends when that one declines too")
    func declineOnOneDevice() async throws {
        let server = try await startServer() { $0.decline = .device }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let bob = [
            try await world.onlinePhone("bob", at: server.address),
            try await world.onlinePhone("bob", at: server.address),
        ]
        let call = try await alice.softphone.call(.user("bob"))
        for phone in bob { try await phone.rings(call) }
        try await bob[0].softphone.decline(call)
        #expect(try await bob[0].ended(call).reason == .declined)
        #expect(try world.reader().calls().map(\.state) == [.ringing])
        #expect(await bob[1].softphone.calls().map(\.id) == [call])
        try await bob[1].softphone.decline(call, reason: .busy)
        #expect(try await bob[1].ended(call).reason == .busy)
        #expect(try await alice.ended(call).reason == .busy)
        #expect(try world.reader().calls().map(\.endReason) == [.busy])
    }

    @Test("of one call at a time is busy for the next, which is stored as missed, until the first ends")
    func callWaitingOff() async throws {
        let server = try await startServer() { $0.callWaiting = false }
        let alice = try await world.phone("alice", at: server.address)
        let bob = try await world.phone("bob", at: server.address)
        let carol = try await world.phone("carol", at: server.address)
        let first = try await carol.connects(to: bob)
        try await alice.softphone.connect()
        await #expect(throws: SoftphoneError.callEnded(.busy)) { try await alice.softphone.call(.user("bob")) }
        let refused = try #require(try world.reader().calls(CallFilter(reason: .busy)).first)
        #expect(try world.reader().call(refused.id)?.legs.isEmpty == true)
        #expect(bob.timesRung == 1)
        #expect(try world.reader().call(first)?.call.state == .connected)

        try await carol.hangUp(first, seenBy: bob)
        let next = try await alice.softphone.call(.user("bob"))
        try await bob.rings(next)
        try await bob.softphone.decline(next)
        #expect(try await alice.ended(next).reason == .declined)
        let opened = try await world.phone("bob", at: server.address).softphone.connect()
        #expect(opened.missed.map(\.call) == [refused.id])
        #expect(opened.missed.map(\.reason) == [.busy])
    }

    @Test("of do not disturb gets no ring and no push: the call is declined at once, and stored as missed")
    func doNotDisturb() async throws {
        let simulator = try await world.startSimulator()
        let server = try await startServer() { $0.doNotDisturb = true }
        let handset = try await world.handset(on: simulator)
        let asleep = try await world.awayPhone("bob", at: server.address, push: [handset.token])
        let awake = try await world.onlinePhone("bob", at: server.address)
        let alice = try await world.onlinePhone("alice", at: server.address)
        await #expect(throws: SoftphoneError.callEnded(.declined)) { try await alice.softphone.call(.user("bob")) }
        let call = try #require(try world.reader().calls().first)
        #expect(call.endReason == .declined)
        let opened = try await asleep.softphone.connect()
        #expect(opened.missed.map(\.call) == [call.id])
        for phone in [asleep, awake] { #expect(phone.timesRung == 0) }
        #expect(try world.reader().pushes().isEmpty)
        #expect(await simulator.snapshot()?.counts.received == 0)
    }

    /// A server with this policy for bob.
    private func startServer(_ choose: (inout UserPolicy) -> Void) async throws -> CallServer {
        var policy = UserPolicy()
        choose(&policy)
        try await world.seed([.user(UserRecord(handle: "bob", policy: policy))])
        return try await world.startServer()
    }
}
