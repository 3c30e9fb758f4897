import CallCore
import CallServer
import CallStore
import CallVocabulary
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

/// A push token identifies one app on one phone; its user and device may change.
@Suite("A push token", .world)
struct TokenTests {
    @Test(
        "registered again after a reinstall belongs to the new device: one push, and the old device gets none")
    func reinstalled() async throws {
        let (simulator, server) = try await world.startPushing()
        let handset = try await world.handset(on: simulator)
        let before = try await world.awayPhone("bob", at: server.address, push: [handset.token])
        let after = try await world.awayPhone("bob", at: server.address, push: [handset.token])
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await handset.push(of: call)
        let pushes = try world.reader().pushes()
        #expect(pushes.map(\.device.device) == [after.softphone.configuration.session.device.id])
        #expect(try world.reader().call(call)?.legs.count == 1)
        let tokens = try world.reader().devices(user: "bob").reduce(into: [:]) {
            $0[$1.key.device] = $1.tokens.count
        }
        #expect(tokens[before.softphone.configuration.session.device.id] == 0)
        #expect(tokens[after.softphone.configuration.session.device.id] == 1)
        #expect(try await alice.hangUp(call) == .cancelled)
        #expect(await simulator.snapshot()?.counts.received == 1)
    }

    @Test(
        "follows the user signed in on the phone, and calls to the previous user do not ring there",
        arguments: [true, false])
    func userSwitch(signsOut: Bool) async throws {
        let (simulator, server) = try await world.startPushing()
        let handset = try await world.handset(on: simulator)
        let bob = try await world.awayPhone("bob", at: server.address, push: [handset.token])
        if signsOut {
            try await bob.softphone.connect()
            try await bob.softphone.logout()
        }
        // The same app on the same phone, with the same token.
        let carol = try await world.awayPhone("carol", at: server.address, push: [handset.token]) {
            $0.session.device = bob.softphone.configuration.session.device
            $0.session.automaticReport = .reported
        }
        let alice = try await world.onlinePhone("alice", at: server.address)
        await #expect(throws: SoftphoneError.callEnded(.noDevices)) {
            try await alice.softphone.call(.user("bob"))
        }
        let call = try await alice.softphone.call(.user("carol"))
        carol.softphone.received(try await handset.push(of: call))
        _ = try await alice.state(.ringing, of: call)
        try await carol.softphone.answer(call)
        #expect(try await alice.state(.answered, of: call).by?.user == "carol")
        #expect(try await alice.hangUp(call, seenBy: carol) == .hangup)

        #expect(handset.pushes.entries.map(\.call) == [call])
        #expect(await simulator.snapshot()?.counts.received == 1)
        // The previous user, offline all the time, has a missed call.
        let opened = try await world.phone("bob", at: server.address).softphone.connect()
        #expect(opened.missed.map(\.reason) == [.noDevices])
    }

    @Test("of the sandbox sent to production is refused and removed; registered for the sandbox, it wakes the phone")
    func sandboxTokenInProduction() async throws {
        let (simulator, server) = try await world.startPushing()
        let handset = try await world.handset(on: simulator, .sandbox)
        let bob = try await world.awayPhone("bob", at: server.address, push: [.voip(handset.token.token, .production)])
        let alice = try await world.onlinePhone("alice", at: server.address)
        // Another phone of the app is reached, so the configuration is right and the token is wrong.
        let other = try await world.handset(on: simulator)
        _ = try await world.awayPhone("carol", at: server.address, push: [other.token])
        let proof = try await alice.softphone.call(.user("carol"))
        _ = try await other.push(of: proof)
        try await world.push("is accepted", of: proof) { $0.status == .accepted }
        try await alice.hangUp(proof)
        let lost = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(lost).reason == .noDevices)
        let refused = try #require(try world.reader().pushes(PushFilter(call: lost)).first)
        #expect(refused.status == .rejected)
        #expect(refused.reason == "BadDeviceToken")
        #expect(refused.report == nil)
        #expect(try world.reader().devices(user: "bob").flatMap(\.tokens) == [])
        #expect(handset.pushes.count == 0)

        try await bob.softphone.connect()
        try await bob.softphone.updatePushTokens([handset.token])
        await bob.softphone.disconnect()
        let call = try await alice.softphone.call(.user("bob"))
        let push = try await handset.push(of: call)
        bob.softphone.received(push)
        _ = try await alice.state(.ringing, of: call)
        try await bob.softphone.report(PushReport(push: push.push, call: call, result: .reported))
        try await bob.softphone.decline(call)
        #expect(try await alice.ended(call).reason == .declined)
        #expect(try world.reader().push(push.push)?.report == .reported)
    }
}
