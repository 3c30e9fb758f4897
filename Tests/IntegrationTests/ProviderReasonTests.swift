import CallCore
import CallServer
import CallStore
import CallVocabulary
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

/// The results of each APNs reason on a call: on the wire, in the ledger, for the token and for the call. The server,
/// its push client and the simulator are real.
@Suite("Each reason of APNs, from the wire to the call", .world)
struct ProviderReasonTests {
    struct Expectation {
        /// The number of requests on the wire while the reason repeats.
        var requests = 1
        /// Whether the device can still be pushed to.
        var isTokenKept = true
    }

    static func expectation(_ reason: APNSReason) -> Expectation {
        switch reason {
        case .badDeviceToken, .deviceTokenNotForTopic, .unregistered, .expiredToken:
            Expectation(isTokenKept: false)
        case .internalServerError, .serviceUnavailable, .idleTimeout, .shutdown:
            // Retried once, soon and on another connection: the 15 minutes that Apple advises exceed any ring time.
            Expectation(requests: 2)
        case .tooManyProviderTokenUpdates:
            // Retried once on a connection without the other token.
            Expectation(requests: 2)
        case .expiredProviderToken, .badCertificate, .badCertificateEnvironment, .forbidden, .invalidProviderToken,
            .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken:
            // Retried once with a new token on another connection: a single refusal may be spurious.
            Expectation(requests: 2)
        case .badTopic, .missingTopic, .topicDisallowed, .tooManyRequests: Expectation()
        case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .duplicateHeaders, .invalidPushType,
            .missingDeviceToken, .payloadEmpty, .badPath, .methodNotAllowed, .payloadTooLarge:
            Expectation()
        }
    }

    @Test("a refused push ends in the ledger with its reason, and the call ends at once, for every reason")
    func everyReason() async throws {
        let simulator = try await world.startSimulator()
        // Raises the limits: one caller calls one phone often here.
        let server = try await world.startServer {
            ($0.limits.pushingCallsPerPair, $0.limits.pushingCallsPerCaller) = (1000, 1000)
            $0.limits.pushesPerDevice = 1000
        }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let healthy = try await sleeper("healthy", simulator, server)
        for (index, reason) in APNSReason.allCases.enumerated() {
            let expected = Self.expectation(reason)
            let user = Handle(stringLiteral: "bob\(index)")
            let handset = try await sleeper(user.text, simulator, server)
            let before = try #require(await simulator.snapshot()?.counts)
            await simulator.inject(PushFault(.refuse(reason), deviceToken: handset.token.token))

            let call = try await alice.softphone.call(.user(user))
            #expect(try await alice.ended(call).reason == .noDevices, "\(reason)")
            let push = try #require(try world.reader().pushes(PushFilter(call: call)).first)
            #expect(push.status == .rejected, "\(reason)")
            #expect(push.reason == reason.rawValue)
            #expect(push.report == nil, "\(reason)")
            let tokens = try world.reader().devices(user: user).flatMap(\.tokens)
            #expect(tokens.count == (expected.isTokenKept ? 1 : 0), "\(reason)")

            let after = try #require(await simulator.snapshot()?.counts)
            #expect(after.received - before.received == expected.requests, "\(reason)")
            #expect(after.accepted == before.accepted, "\(reason)")
            #expect(handset.pushes.count == 0, "\(reason)")

            // The result of the next call depends on the token.
            await simulator.clearFaults()
            if expected.isTokenKept {
                let again = try await alice.softphone.call(.user(user))
                _ = try await handset.push(of: again)
                #expect(try await alice.hangUp(again) == .cancelled)
            } else {
                await #expect(throws: SoftphoneError.callEnded(.noDevices), "\(reason)") {
                    try await alice.softphone.call(.user(user))
                }
            }

            // Other users are not affected.
            let next = try await alice.softphone.call(.user("healthy"))
            #expect(try await healthy.push(of: next).call == next, "after \(reason)")
            #expect(try await alice.hangUp(next) == .cancelled)
        }
    }

    @Test(
        "a temporary reason does not harm the call: the push is sent once more and accepted",
        arguments: APNSReason.allCases.filter { expectation($0).requests == 2 })
    func passing(reason: APNSReason) async throws {
        let (simulator, server) = try await world.startPushing()
        let handset = try await sleeper("bob", simulator, server)
        let alice = try await world.onlinePhone("alice", at: server.address)
        await simulator.inject(PushFault(.refuse(reason), count: 1))
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await handset.push(of: call).call == call)
        let push = try await world.push("is accepted") { $0.status == .accepted }
        #expect(push.report == .awaited)
        let counts = try #require(await simulator.snapshot()?.counts)
        #expect(counts.received == 2)
        #expect(counts.accepted == 1)
        #expect(handset.pushes.count == 1)
        try await alice.hangUp(call)
    }

    /// An offline device of `user` with a registered token.
    private func sleeper(
        _ user: String, _ simulator: PushSimulator, _ server: CallServer
    ) async throws -> Handset {
        let handset = try await world.handset(on: simulator)
        _ = try await world.awayPhone(user, at: server.address, push: [handset.token])
        return handset
    }
}
