import CallCore
import CallServer
import CallStore
import CallVocabulary
import PushCore
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

/// The results of APNs reasons on a call: on the wire, in the ledger, for the token and for the call. The server, its
/// push client and the simulator are real. `PushFaultTableTests` has every reason, without a wire.
@Suite("Each kind of reason of APNs, from the wire to the call", .world)
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

    /// At least one reason of each ``PushVerdict``, which ``ProviderReasonReleaseTests`` completes.
    static let representatives: [APNSReason] = [
        .payloadTooLarge, .badDeviceToken, .unregistered, .topicDisallowed, .tooManyRequests, .serviceUnavailable,
        .shutdown, .tooManyProviderTokenUpdates, .badCertificate, .expiredProviderToken, .invalidProviderToken,
    ]
    static let others = APNSReason.allCases.filter { !representatives.contains($0) }

    @Test("the reasons have every verdict of APNs")
    func completeness() {
        #expect(Set(Self.representatives.map(\.verdict)) == Set(APNSReason.allCases.map(\.verdict)))
    }

    @Test("a refused push ends in the ledger with its reason, and the call ends at once")
    func refused() async throws { try await Self.checkRefused(Self.representatives) }

    @Test("a temporary reason does not harm the call: the push is sent once more and accepted")
    func passing() async throws { try await Self.checkPassing(Self.representatives) }

    private static func start() async throws -> (simulator: PushSimulator, server: CallServer) {
        // The handsets report no push. After three overdue reports the server suspends the device, and the simulated
        // iPhone gets no further push: after 16 and 22 s with the default times.
        let reports = Duration.seconds(600)
        let simulator = try await world.startSimulator { $0.reportWindow = reports }
        // Raises the limits: one caller calls one phone often here.
        let server = try await world.startServer {
            ($0.limits.pushingCallsPerPair, $0.limits.pushingCallsPerCaller) = (1000, 1000)
            $0.limits.pushesPerDevice = 1000
            $0.timers.report = reports
        }
        return (simulator, server)
    }

    /// One after the other on one server, each for a device of its own. A token is dropped only after another one of its
    /// topic was accepted, so the first reason is none of a token.
    static func checkRefused(_ reasons: [APNSReason]) async throws {
        let (simulator, server) = try await start()
        let alice = try await world.onlinePhone("alice", at: server.address)
        let healthy = try await sleeper("healthy", simulator, server)
        for (index, reason) in reasons.enumerated() {
            let expected = expectation(reason)
            let user = Handle(stringLiteral: "bob\(index)")
            let handset = try await sleeper(user.text, simulator, server)
            let before = try #require(await simulator.snapshot()?.counts)
            await simulator.inject(PushFault(.refuse(reason), deviceToken: handset.token.token))

            let call = try await alice.softphone.call(.user(user))
            #expect(try await alice.ended(call).reason == .noDevices, "\(reason)")
            let push = try #require(try world.reader().pushes(PushFilter(call: call)).first)
            #expect(push.status == .rejected, "\(reason)")
            #expect(push.reason == reason.rawValue, "\(reason)")
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
                #expect(try await alice.hangUp(again) == .cancelled, "\(reason)")
            } else {
                await #expect(throws: SoftphoneError.callEnded(.noDevices), "\(reason)") {
                    try await alice.softphone.call(.user(user))
                }
            }

            // Other users are not affected.
            let next = try await alice.softphone.call(.user("healthy"))
            #expect(try await healthy.push(of: next).call == next, "after \(reason)")
            #expect(try await alice.hangUp(next) == .cancelled, "after \(reason)")
        }
    }

    /// The temporary ones of `reasons`, one after the other on one server, each once and for a device of its own.
    static func checkPassing(_ reasons: [APNSReason]) async throws {
        let (simulator, server) = try await start()
        let alice = try await world.onlinePhone("alice", at: server.address)
        for (index, reason) in reasons.filter({ expectation($0).requests == 2 }).enumerated() {
            let user = Handle(stringLiteral: "bob\(index)")
            let handset = try await sleeper(user.text, simulator, server)
            let before = try #require(await simulator.snapshot()?.counts)
            await simulator.inject(PushFault(.refuse(reason), count: 1))
            let call = try await alice.softphone.call(.user(user))
            #expect(try await handset.push(of: call).call == call, "\(reason)")
            let push = try await world.push("is accepted after \(reason)", of: call) { $0.status == .accepted }
            #expect(push.report == .awaited, "\(reason)")
            let after = try #require(await simulator.snapshot()?.counts)
            #expect(after.received - before.received == 2, "\(reason)")
            #expect(after.accepted - before.accepted == 1, "\(reason)")
            #expect(handset.pushes.count == 1, "\(reason)")
            #expect(try await alice.hangUp(call) == .cancelled, "\(reason)")
        }
    }

    /// An offline device of `user` with a registered token.
    private static func sleeper(
        _ user: String, _ simulator: PushSimulator, _ server: CallServer
    ) async throws -> Handset {
        let handset = try await world.handset(on: simulator)
        _ = try await world.awayPhone(user, at: server.address, push: [handset.token])
        return handset
    }
}
