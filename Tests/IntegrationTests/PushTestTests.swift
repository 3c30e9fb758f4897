import CallServer
import CallStore
import CallVocabulary
import Foundation
import PushCore
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession
import Testing

@Suite("reveille push-test", .world)
struct PushTestTests {
    @Test("a push to a known device arrives at its phone, and is not in the ledger")
    func known() async throws {
        let (simulator, handset) = try await device()
        let result = try await world.output("push-test --user bob --push-sim --output json")
        let answer = try JSONObject(result)
        #expect(answer["outcome"] as? String == "accepted")
        #expect(answer["kind"] as? String == "apns_voip")
        #expect((answer["meaning"] as? String)?.contains("no proof that it arrives") == true)
        #expect(!result.contains(handset.token.token))
        _ = try await eventually("the phone has it") { handset.pushes.count == 1 ? true : nil }
        #expect(await simulator.snapshot()?.counts.accepted == 1)
        #expect(try world.reader().pushes() == [])
    }

    @Test(
        "each refusal has its explanation, and exit code 1",
        arguments: [
            APNSReason.badDeviceToken, .unregistered, .invalidProviderToken, .expiredProviderToken, .topicDisallowed,
            .tooManyRequests, .serviceUnavailable,
        ])
    func refused(reason: APNSReason) async throws {
        let (simulator, _) = try await device()
        await simulator.inject(PushFault(.refuse(reason)))
        let result = try await world.reveille("push-test --user bob --push-sim")
        #expect(result.ending == .exit(1), "\(result.errors)")
        #expect(result.output.contains("rejected (\(reason.rawValue))"))
        #expect(result.output.contains(reason.diagnosis.meaning))
        for advice in reason.diagnosis.advice { #expect(result.output.contains(advice)) }
    }

    @Test("an unreachable provider is exit code 2, with the reason, within the time limit")
    func unreachable() async throws {
        let (simulator, _) = try await device()
        await simulator.stop()
        let result = try await world.reveille("push-test --user bob --push-sim --seconds 1")
        #expect(result.ending == .exit(2))
        #expect(result.output.contains("never left this machine"))
        #expect(result.errors.contains("Connection refused"))
    }

    @Test("a user without a token for the push is exit code 1, with advice")
    func noToken() async throws {
        _ = try await device()
        for (line, words) in [
            ("--user bob --kind data", "for data pushes"), ("--user nobody", "reveille devices list --user nobody"),
        ] {
            try await world.reveille("push-test --push-sim \(line)").expectFailure(1, words)
        }
    }

    /// bob's device, offline with a registered VoIP token.
    private func device() async throws -> (PushSimulator, Handset) {
        let (simulator, server) = try await world.startPushing()
        let handset = try await world.handset(on: simulator)
        _ = try await world.awayPhone("bob", at: server.address, push: [handset.token])
        return (simulator, handset)
    }
}
