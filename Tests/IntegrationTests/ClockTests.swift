import CallCore
import CallServer
import CallStore
import CallVocabulary
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import Synchronization
import Testing

/// Clocks that a test moves ahead of the machine's clocks.
final class MovedClocks: Sendable {
    private let ahead = Mutex((wall: Int64(0), elapsed: Int64(0)))

    func set(by step: Duration) { ahead.withLock { $0.wall += step.milliseconds } }

    /// A suspended machine: its clocks continue, its timers do not.
    func suspend(for time: Duration) {
        ahead.withLock {
            $0.wall += time.milliseconds
            $0.elapsed += time.milliseconds
        }
    }

    var sources: ClockSources {
        let system = ClockSources.system
        return ClockSources(
            wall: { [self] in system.wall() + ahead.withLock { $0.wall } },
            elapsed: { [self] in system.elapsed() + ahead.withLock { $0.elapsed } }, awake: system.awake,
            boot: system.boot)
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { Int64(self / .milliseconds(1)) }
}

/// Clock steps and suspensions in each phase of a call.
@Suite("The clock", .world, .serialized)
struct ClockTests {
    private static let steps = [Duration.seconds(7200), .seconds(-7200)]
    private static let ringTime = Duration.seconds(40)

    /// Alice calls Bob's sleeping phone. Their tokens are valid at any time of the clock.
    private struct Scene {
        let clocks = MovedClocks()
        let server: CallServer
        let simulator: PushSimulator
        let handset: Handset
        let alice: Phone
        let bob: Phone

        init(clocksAhead ahead: Duration = .zero) async throws {
            clocks.set(by: ahead)
            simulator = try await world.startSimulator()
            server = try await world.startServer(clocks: clocks.sources)
            handset = try await world.handset(on: simulator)
            let tokens = (
                try await world.token("alice", lifetime: .seconds(36_000)),
                try await world.token("bob", lifetime: .seconds(36_000))
            )
            let push = [handset.token]
            alice = try await world.phone("alice", at: server.address) { $0.token = .fixed(tokens.0) }
            bob = try await world.phone("bob", at: server.address, push: push) {
                $0.token = .fixed(tokens.1)
                $0.session.automaticReport = .reported
            }
            try await bob.softphone.connect()
            await bob.softphone.disconnect()
            try await alice.softphone.connect()
        }

        func record(_ call: CallID) throws -> CallRecord {
            try #require(try world.reader().call(call)?.call)
        }

        /// Sets the clock, and waits until the call's ring deadline is stored in the new time.
        func step(_ step: Duration, during call: CallID) async throws {
            let before = try record(call)
            clocks.set(by: step)
            _ = try await eventually("the step is noticed") {
                let moved = (try record(call).ringsUntil - before.ringsUntil - step).milliseconds
                return abs(moved) < 500 ? true : nil
            }
            #expect(try record(call).createdAt == before.createdAt)
        }
    }

    @Test("is set ahead and back while media flows: the call continues", arguments: steps)
    func whileConnected(step: Duration) async throws {
        let scene = try await Scene()
        let (alice, bob) = (scene.alice, scene.bob)
        let call = try await alice.connects(to: bob)
        try await scene.step(step, during: call)
        try await scene.step(.zero - step, during: call)
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
        #expect(try scene.record(call).endReason == .hangup)
    }

    @Test(
        "is set before a restart, or while no server runs: the call keeps its remaining time",
        arguments: steps, [false, true])
    func beforeARestart(step: Duration, whileDown: Bool) async throws {
        let scene = try await Scene()
        let call = try await scene.alice.softphone.call(.user("bob"), ringTime: Self.ringTime)
        _ = try await scene.handset.push(of: call)
        if !whileDown { try await scene.step(step, during: call) }
        await scene.server.stop()
        if whileDown { scene.clocks.set(by: step) }
        let again = try await world.startServer(clocks: scene.clocks.sources)
        let token = try await world.token("bob", lifetime: .seconds(36_000))
        let bob = try await world.onlinePhone("bob", at: again.address, push: [scene.handset.token]) {
            $0.token = .fixed(token)
            $0.session.device = scene.bob.softphone.configuration.session.device
        }
        try await bob.rings(call)
        _ = try await eventually("the deadline is stored by the clock as it is now") {
            let left = try scene.record(call).ringsUntil - Instant.now - step
            return left > .seconds(15) && left <= Self.ringTime ? left : nil
        }
        #expect(await scene.simulator.snapshot()?.counts.received == 1)
        try await bob.softphone.decline(call)
        let reason = try await eventually("the end is stored") { try scene.record(call).endReason }
        #expect(reason == .declined)
    }

    @Test("is suspended with the machine: passed deadlines take effect after the resume")
    func suspended() async throws {
        let scene = try await Scene()
        let call = try await scene.alice.softphone.call(.user("bob"), ringTime: Self.ringTime)
        _ = try await scene.handset.push(of: call)
        scene.clocks.suspend(for: .seconds(60))
        #expect(try await scene.alice.ended(call).reason == .ringTimeout)
        #expect(try scene.record(call).endReason == .ringTimeout)
    }

    @Test("is two hours behind at the start and then corrected: the provider accepts every later push")
    func behindAtTheStart() async throws {
        let scene = try await Scene(clocksAhead: .seconds(-7200))
        let lost = try await scene.alice.softphone.call(.user("bob"), ringTime: Self.ringTime)
        let refused = try await eventually("the provider refuses the token") {
            try world.reader().pushes().first { $0.call == lost && $0.status == .rejected }
        }
        #expect(refused.reason == "ExpiredProviderToken")
        scene.clocks.set(by: .seconds(7200))
        let call = try await eventually("a push is taken") {
            let call = try await scene.alice.softphone.call(.user("bob"), ringTime: Self.ringTime)
            let push = try await world.push("is answered for") { $0.call == call && $0.answeredAt != nil }
            if push.status == .accepted { return call }
            _ = try? await scene.alice.ended(call)
            return nil
        }
        #expect(try await scene.handset.push(of: call).call == call)
    }

    @Test("is ahead of the issuer's clock of a user's token: the refusal names the claim and both times")
    func expiredToken() async throws {
        let clocks = MovedClocks()
        let server = try await world.startServer(clocks: clocks.sources)
        let wire = try await HTTPAnswer.curl(
            server, "/v1/calls/\(CallID(high: 1, low: 1))", token: try await world.token("bob"))
        #expect(wire.status == 403)
        clocks.set(by: .seconds(7200))
        let refused = try await HTTPAnswer.curl(
            server, "/v1/calls/\(CallID(high: 1, low: 1))", token: try await world.token("bob"))
        #expect(refused.status == 401)
        let message = try #require(try refused.object["message"] as? String)
        #expect(message.contains("has expired: exp is") && message.contains("the server's time is"))
    }
}
