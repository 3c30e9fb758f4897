import CallVocabulary
import PushClient
import PushCore
import PushVocabulary
import TestCleanup
import Testing

/// The push client with a server that violates the protocol, written in Python on the frames of python3-h2. The process
/// is the test's own, because its memory is checked.
@Suite("The push client with a misbehaving server", .ownProcess, .cleanup, .timeLimit(.minutes(8)))
struct HostileServerTests {
    struct Scenario: Sendable, CustomTestStringConvertible {
        let name: String
        /// The possible outcomes of pushes during the scenario.
        let outcomes: Set<PushOutcome.Kind>
        var pushes = 40
        var ring = Duration.seconds(2)

        init(_ name: String, _ outcomes: PushOutcome.Kind..., pushes: Int = 40, ring: Duration = .seconds(2)) {
            self.name = name
            self.outcomes = Set(outcomes)
            self.pushes = pushes
            self.ring = ring
        }

        var testDescription: String { name }
    }

    static let goodbyes = [
        Scenario("goaway_plain", .accepted, ring: .seconds(20)),
        Scenario("goaway_text", .accepted, ring: .seconds(20)),
        Scenario("goaway_json", .accepted, ring: .seconds(20)),
        Scenario("goaway_doubled", .accepted, ring: .seconds(20)),
        Scenario("goaway_zero", .accepted, ring: .seconds(20)),
        Scenario("goaway_midflight", .accepted, ring: .seconds(20)),
        Scenario("goaway_always", .unsent),
        Scenario("goaway_unanswered", .unknown),
    ]

    static let streams = [
        Scenario("refused", .accepted, ring: .seconds(20)),
        Scenario("unavailable", .accepted, ring: .seconds(20)),
        Scenario("reset_codes", .unknown),
        Scenario("silence", .unknown),
        Scenario("no_end", .accepted),
    ]

    static let settings = [
        Scenario("limits", .accepted, pushes: 300, ring: .seconds(20)),
        Scenario("windows", .accepted, ring: .seconds(20)),
        Scenario("narrow", .accepted, ring: .seconds(20)),
        Scenario("no_settings", .unsent),
    ]

    static let answers = [
        Scenario("bytewise", .rejected),
        Scenario("continuation", .accepted),
        Scenario("continuation_flood", .unknown),
        Scenario("informational", .accepted),
        Scenario("trailers", .rejected),
        Scenario("wrong_length", .accepted, .rejected, .unknown),
        Scenario("bad_status", .unknown),
        Scenario("answered_twice", .accepted, .unknown),
        Scenario("stranger", .unknown),
        Scenario("big_page", .rejected, pushes: 16, ring: .seconds(20)),
        Scenario("big_header", .unknown),
        Scenario("push_promise", .unknown),
    ]

    static let breaks = [
        Scenario("garbage", .unknown),
        Scenario("long_frame", .unknown),
        Scenario("window_overflow", .unknown),
        Scenario("tcp_reset", .unknown),
        Scenario("cut_in_frame", .unknown),
        Scenario("no_alpn", .unsent),
        Scenario("http1", .unsent),
        Scenario("drip", .accepted, .unknown),
        Scenario("ping_flood", .accepted, .unknown),
        Scenario("settings_flood", .accepted, .unknown),
        Scenario("data_flood", .accepted),
    ]

    @Test(
        "that sends GOAWAY: unprocessed pushes go to another connection, possibly accepted ones are not repeated",
        arguments: goodbyes)
    func goAway(_ scenario: Scenario) async throws { try await outlive(scenario) }

    @Test("that ends streams early or never", arguments: streams)
    func stream(_ scenario: Scenario) async throws { try await outlive(scenario) }

    @Test("that changes its settings: the limits are respected, and no push is lost", arguments: settings)
    func limits(_ scenario: Scenario) async throws { try await outlive(scenario) }

    @Test("that sends unusual or invalid responses", arguments: answers)
    func answer(_ scenario: Scenario) async throws { try await outlive(scenario) }

    @Test("that breaks the connection, or floods it", arguments: breaks)
    func connection(_ scenario: Scenario) async throws { try await outlive(scenario) }

    /// Checks that each push has one outcome, which agrees with the server's report, and that no possibly accepted push
    /// is repeated. The client neither spins nor grows, limits its connection attempts, and recovers.
    private func outlive(_ scenario: Scenario) async throws {
        let memory = ProcessMemory.resident()
        let server = try await HostileServer(scenario.name)
        let pusher = try await Pusher(port: server.port)
        let start = ContinuousClock.now
        let hostile = try await pusher.settled(pusher.queue(scenario.pushes, ring: scenario.ring))
        let time = ContinuousClock.now - start
        #expect(Set(hostile.map(\.kind)).subtracting(scenario.outcomes) == [], "\(Set(hostile.map { "\($0)" }))")
        try await server.behave()
        let good = try await pusher.settled(pusher.queue(20, ring: .seconds(20)))
        #expect(good.filter { $0 != .accepted } == [])
        // A spinning loop uses a whole processor, or at least half of a shared one.
        #expect(pusher.loopTime < .milliseconds(800) + time / 8, "in \(time)")
        await pusher.stop()
        let pool = try #require(pusher.statistics.pools.first)
        #expect(pool.queueDepth == 0 && pool.streamsInFlight == 0)
        let account = try await server.end()
        #expect(account.contradictions(of: pusher.histories) == [])
        #expect(account.connections <= 60, "in \(time)")
        #expect(ProcessMemory.resident() - memory < 64 << 20)
    }
}
