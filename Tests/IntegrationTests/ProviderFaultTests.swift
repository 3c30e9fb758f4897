import CallCore
import CallServer
import CallStore
import CallVocabulary
import EventLoop
import PushClient
import PushCore
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("A push service that refuses, disconnects or loses pushes", .world)
struct ProviderFaultTests {
    @Test(
        "tokens that are all refused are kept, and all phones ring after the repair",
        arguments: [APNSReason.badDeviceToken, .deviceTokenNotForTopic])
    func refusedAll(reason: APNSReason) async throws {
        let (simulator, server) = try await world.startPushing()
        let alice = try await world.onlinePhone("alice", at: server.address)
        var phones: [(name: String, phone: IPhone)] = []
        for name in ["bob", "carol", "dave", "erin"] {
            phones.append((name, try await world.sleepingPhone(name, at: server.address)))
        }
        await simulator.inject(PushFault(.refuse(reason)))
        for (name, _) in phones {
            let user = Handle(stringLiteral: name)
            let call = try await alice.softphone.call(.user(user))
            #expect(try await alice.ended(call).reason == .noDevices)
            #expect(try world.reader().devices(user: user).flatMap(\.tokens).count == 1)
        }
        await simulator.clearFaults()
        for (name, phone) in phones {
            let call = try await alice.softphone.call(.user(Handle(stringLiteral: name)))
            try await phone.rings(call)
            try await alice.hangUp(call)
        }
    }

    @Test("a 410 older than the registration ends this call, and the token is kept for the next one")
    func oldGone() async throws {
        let (simulator, alice, handset) = try await sleeper()
        let long = Instant.now + .seconds(-3600)
        await simulator.inject(PushFault(.refuse(.unregistered, timestamp: long), count: 1))
        let lost = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(lost).reason == .noDevices)
        #expect(try world.reader().pushes().map(\.reason) == ["Unregistered"])
        #expect(try world.reader().devices(user: "bob").flatMap(\.tokens).map(\.token) == [handset.token])
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await handset.push(of: call)
        #expect(try await alice.hangUp(call) == .cancelled)
    }

    @Test("a push without a response is unknown and not repeated; a phone that got it still rings")
    func stall() async throws {
        let (simulator, alice, handset) = try await sleeper() {
            for index in $0.push.apns.indices { $0.push.apns[index].policy.requestTimeout = .milliseconds(500) }
        }
        await simulator.inject(PushFault(.neverAnswer, count: 1))
        let call = try await alice.softphone.call(.user("bob"))
        let push = try await world.push("is unknown") { $0.status == .unknown }
        #expect(push.report == .awaited)
        // It may have arrived, so the call continues.
        #expect(try world.reader().calls().map(\.state) == [.waking])
        let bob = try await world.onlinePhone("bob", at: alice.address) {
            $0.session.device.id = push.device.device
        }
        try await bob.softphone.report(PushReport(push: push.id, call: call, result: .reported))
        _ = try await alice.state(.ringing, of: call)
        let proven = try #require(try world.reader().push(push.id))
        #expect(proven.status == .accepted)
        #expect(proven.report == .reported)
        try await bob.softphone.decline(call)
        #expect(try await alice.ended(call).reason == .declined)
        #expect(handset.pushes.count == 0)
        #expect(await simulator.snapshot()?.counts.received == 1)
    }

    @Test("three pushes lost after a 200 suspend the device; it gets no push until it connects by itself")
    func lostAfterAccept() async throws {
        let (simulator, alice, handset) = try await sleeper() {
            $0.timers.report = .milliseconds(100)
            $0.timers.ring = .seconds(1)
        }
        await simulator.inject(PushFault(.lose, count: 3))
        for streak in 1...3 {
            let call = try await alice.softphone.call(.user("bob"))
            _ = try await alice.state(.waking, of: call)
            #expect(try await alice.ended(call).reason == .ringTimeout)
            try await world.push("is unreported", of: call) { $0.report == .unreported }
            let device = try #require(try world.reader().devices(user: "bob").first)
            #expect(device.unreportedStreak == streak)
            #expect((device.suspendedAt != nil) == (streak == 3))
        }
        await #expect(throws: SoftphoneError.callEnded(.noDevices)) {
            try await alice.softphone.call(.user("bob"))
        }
        #expect(await simulator.snapshot()?.counts.received == 3)

        let id = try #require(try world.reader().devices(user: "bob").first).key.device
        let bob = try await world.phone("bob", at: alice.address) { $0.session.device.id = id }
        #expect(try await bob.softphone.connect().missed.count == 4)
        #expect(try world.reader().devices(user: "bob").map(\.suspendedAt) == [nil])
        await bob.softphone.disconnect()
        let call = try await alice.softphone.call(.user("bob"), ringTime: .seconds(60))
        #expect(try await handset.push(of: call).call == call)
        try await alice.hangUp(call)
    }

    /// An online caller, and bob, offline with the handset's token.
    private func sleeper(
        _ configure: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws -> (PushSimulator, Phone, Handset) {
        let (simulator, server) = try await world.startPushing(configure)
        let handset = try await world.handset(on: simulator)
        _ = try await world.awayPhone("bob", at: server.address, push: [handset.token])
        let alice = try await world.onlinePhone("alice", at: server.address)
        return (simulator, alice, handset)
    }
}
