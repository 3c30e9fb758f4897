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

/// What becomes of a call whose push is refused, for each reason that APNs has: on the wire, in the ledger, for the token
/// and for the call. The server, its push client and the simulator are the real ones.
@Suite("Each reason of APNs, from the wire to the call", .world)
struct ProviderReasonTests {
    struct Expectation {
        /// How often the push is on the wire while the reason is given again and again.
        var requests = 1
        /// Whether the device may be pushed to again.
        var isTokenKept = true
    }

    static func expectation(_ reason: APNSReason) -> Expectation {
        switch reason {
        case .badDeviceToken, .deviceTokenNotForTopic, .unregistered, .expiredToken:
            Expectation(isTokenKept: false)
        case .internalServerError, .serviceUnavailable, .idleTimeout, .shutdown:
            // Once more, fast and over another connection: 15 minutes, as Apple advises, outlive any ring.
            Expectation(requests: 2)
        case .tooManyProviderTokenUpdates:
            // Once more over a connection that has not seen the other token.
            Expectation(requests: 2)
        case .expiredProviderToken, .badCertificate, .badCertificateEnvironment, .forbidden, .invalidProviderToken,
            .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken:
            // Once more with a new token over another connection: one refusal may be a slip.
            Expectation(requests: 2)
        case .badTopic, .missingTopic, .topicDisallowed, .tooManyRequests: Expectation()
        case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .duplicateHeaders, .invalidPushType,
            .missingDeviceToken, .payloadEmpty, .badPath, .methodNotAllowed, .payloadTooLarge:
            Expectation()
        }
    }

    @Test("a refused push ends in the ledger as what it is, and the call ends at once, for every reason")
    func everyReason() async throws {
        let simulator = try await world.startSimulator()
        // One caller calls one phone more often here than people do.
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

            // What comes of the next call follows from the token.
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

            // Nobody else is the worse for it.
            let next = try await alice.softphone.call(.user("healthy"))
            #expect(try await healthy.push(of: next).call == next, "after \(reason)")
            #expect(try await alice.hangUp(next) == .cancelled)
        }
    }

    @Test(
        "a reason that passes by costs the call nothing: the push is sent once more and accepted",
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

    /// A device of `user` that has registered its token and is away.
    private func sleeper(
        _ user: String, _ simulator: PushSimulator, _ server: CallServer
    ) async throws -> Handset {
        let handset = try await world.handset(on: simulator)
        _ = try await world.awayPhone(user, at: server.address, push: [handset.token])
        return handset
    }
}
