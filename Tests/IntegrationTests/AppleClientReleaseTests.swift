import CallCore
import CallServer
import CallStore
import CallVocabulary
import Foundation
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import Testing

/// The Swift package in `Resources/clients/apple`: what Linux can build of it runs; the rest is type-checked. Serialized,
/// because tests that wait for the build take the places of other suites' tests in a parallel run.
@Suite("The client for Apple's platforms", .world, .serialized, .timeLimit(.minutes(20)))
struct AppleClientReleaseTests {
    /// Builds the programs before a test begins: a call does not ring for as long as a build takes.
    init() async throws { _ = try await ApplePackage.glueCheck }

    /// Runs the package's example against a server.
    private func example(_ arguments: String...) async throws -> Program {
        try world.start(try await ApplePackage.products + "/example-phone", arguments)
    }

    @Test("reads pushes and CallKit's numbers as its own tests say")
    func unitTests() async throws {
        let tests = try await ApplePackage.products + "/reveille-applePackageTests.xctest"
        let result = try await Program.run(tests, ["--testing-library", "swift-testing"])
        #expect(result.ending == .exit(0), "\(result.output)\n\(result.errors)")
    }

    @Test("plays both sides of a call, resumes after a lost connection, and does not retry a bad token")
    func call() async throws {
        let server = try await world.startServer()
        let program = try await example(
            "ws://\(server.address)", "call", try await world.token("alice"), try await world.token("bob"))
        let result = try await program.result()
        #expect(result.ending == .exit(0), "\(result.errors)")
        #expect(try world.reader().calls().map(\.endReason) == [.hangup])
    }

    @Test("reports the push that woke it by HTTP, and answers with the push's wake token alone")
    func woken() async throws {
        let wakeUp = try await WakeUp.start()
        let program = try await example("ws://\(wakeUp.address)", "woken", wakeUp.payload, wakeUp.device)
        try await wakeUp.talks()
        #expect(try await program.ending() == .exit(0), "\(program.errors.entries)")
        try await world.push("is reported", of: wakeUp.call) { $0.report == .reported }
    }

    @Test("rings and declines by HTTP alone, and cannot answer afterwards")
    func declinesByHTTP() async throws {
        let wakeUp = try await WakeUp.start()
        let program = try await example("ws://\(wakeUp.address)", "declines", wakeUp.payload)
        #expect(try await wakeUp.alice.ended(wakeUp.call).reason == .declined)
        #expect(try await program.ending() == .exit(0), "\(program.errors.entries)")
    }

    @Test("reports a push to CallKit before the handler returns, and answers on the lock screen")
    func answersOnTheLockScreen() async throws {
        let wakeUp = try await WakeUp.start()
        let program = try await wakeUp.glueCheck("answers")
        try await wakeUp.talks()
        #expect(try await program.ending() == .exit(0), "\(program.errors.entries)")
        try await world.push("is reported", of: wakeUp.call) { $0.report == .reported }
    }

    @Test("declines a call on the lock screen, before its session is open")
    func declinesOnTheLockScreen() async throws {
        let wakeUp = try await WakeUp.start()
        let program = try await wakeUp.glueCheck("declines")
        #expect(try await wakeUp.alice.ended(wakeUp.call).reason == .declined)
        #expect(try await program.ending() == .exit(0), "\(program.errors.entries)")
        try await world.push("is reported", of: wakeUp.call) { $0.report == .reported }
    }

    @Test("does not ring when the system filters the call, and says so")
    func filtered() async throws {
        let wakeUp = try await WakeUp.start()
        let program = try await wakeUp.glueCheck("filters")
        try await world.push("is filtered", of: wakeUp.call) { $0.report == .filtered }
        #expect(try await program.ending() == .exit(0), "\(program.errors.entries)")
        #expect(!wakeUp.alice.events.entries.contains { $0.call(wakeUp.call, in: .ringing) != nil })
        #expect(try await wakeUp.alice.hangUp(wakeUp.call) == .cancelled)
    }
}

extension AppleClientReleaseTests {
    @Test("registers its push token, shows a call that its session brought, and calls from the system's screen")
    func online() async throws {
        _ = try await world.startSimulator()
        let (_, address) = try await world.serve("--push-sim")
        let alice = try await world.onlinePhone("alice", at: address)
        let bob = DeviceID.random()
        let program = try world.start(
            try await ApplePackage.glueCheck,
            ["ws://\(address)", bob.description, "online", try await world.token("bob")])
        let token = try await eventually("bob's push token") {
            try world.reader().devices(user: "bob").flatMap(\.tokens).first
        }
        #expect(
            token.token
                == PushToken(
                    provider: .apns, kind: .voip, environment: .production, topic: "org.reveille.phone.voip",
                    token: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"))
        let call = try await alice.softphone.call(.user("bob"), sdp: .text("offer"))
        _ = try await alice.state(.answered, of: call)
        try await alice.softphone.connected(call)
        #expect(try await alice.ended(call).reason == .hangup)
        let back = try await alice.incoming()
        #expect(back.sdp == .text("offer"))
        try await alice.softphone.answer(back.id, sdp: .text("answer"))
        try await alice.softphone.connected(back.id)
        _ = try await alice.state(.connected, of: back.id)
        try await alice.softphone.hangup(back.id)
        #expect(try await program.ending() == .exit(0), "\(program.errors.entries)")
    }
}

/// alice calls bob, whose iPhone got the push; what its app does is the test's own.
private struct WakeUp {
    let address: String
    let alice: Phone
    let call: CallID
    /// As APNs delivers it.
    let payload: String
    let device: String

    /// On a server of its own process, as operators run it.
    static func start() async throws -> WakeUp {
        let simulator = try await world.startSimulator()
        let (_, address) = try await world.serve("--push-sim")
        let handset = try await world.handset(on: simulator)
        let bob = try await world.awayPhone("bob", at: address, push: [handset.token])
        let alice = try await world.onlinePhone("alice", at: address)
        let call = try await alice.softphone.call(.user("bob"), sdp: .text("offer"))
        let payload = try await handset.payloads.first("the push") { $0 }
        return WakeUp(
            address: address, alice: alice, call: call, payload: payload,
            device: bob.softphone.configuration.session.device.id.description)
    }

    /// Runs the app on CallKit.
    func glueCheck(_ scenario: String) async throws -> Program {
        try world.start(try await ApplePackage.glueCheck, ["ws://\(address)", device, scenario, payload])
    }

    /// bob's app answers; then media flows, and alice hangs up.
    func talks() async throws {
        let answered = try await alice.state(.answered, of: call)
        #expect(answered.sdp == .text("answer"))
        try await alice.softphone.connected(call)
        _ = try await alice.state(.connected, of: call)
        #expect(try await alice.hangUp(call) == .hangup)
    }
}
