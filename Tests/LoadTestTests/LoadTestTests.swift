import CallVocabulary
import Foundation
import Testing

@testable import LoadTest

/// Against a real server process, one after the other.
@Suite(.serialized) struct LoadTestTests {
    /// The executable of this package, built next to the tests' own.
    private static let reveille = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("reveille").path

    private func report(of scenario: some LoadScenario) async throws -> LoadReport {
        let server = try await ServerProcess.start(
            executable: Self.reveille, shards: scenario.shards, messagesPerSecond: scenario.messagesPerSecond)
        defer { server.removeData() }
        do {
            let report = try await scenario.run(on: server) { _ in }
            #expect(await server.stop() == nil)
            #expect(!server.isRunning)
            #expect(try server.audit().isEmpty)
            return report
        } catch {
            _ = await server.stop()
            throw error
        }
    }

    private func value(_ key: String, in report: LoadReport) -> Double? {
        report.figures.first { $0.key == key }?.value
    }

    @Test("every session of a register run is opened and timed", .timeLimit(.minutes(1)))
    func register() async throws {
        let report = try await report(of: RegisterScenario(sessions: 20, concurrency: 5, hold: .milliseconds(50)))
        #expect(!report.hasFailed, "\(report.failures)")
        #expect(value("sessions", in: report) == 20)
        #expect(report.latencies.map(\.count) == [20])
        #expect(try #require(value("server_rss_before", in: report)) > 1_000_000)
    }

    @Test("candidates go to and fro in every call of a relay run, and all come back", .timeLimit(.minutes(1)))
    func relay() async throws {
        let report = try await report(of: RelayScenario(calls: 2, window: 4, duration: .milliseconds(300)))
        #expect(!report.hasFailed, "\(report.failures)")
        #expect(value("calls", in: report) == 2)
        let relayed = try #require(value("relayed", in: report))
        let roundTrips = try #require(report.latencies.first)
        #expect(roundTrips.count > 8)
        // A round trip is relayed twice; up to one window in each call has its halves on either side of an edge.
        #expect(abs(relayed - 2 * Double(roundTrips.count)) <= 16)
        #expect(roundTrips.p50 <= roundTrips.p99 && roundTrips.p99 <= roundTrips.max)
    }

    @Test("calls of an online run pass all stages and end in the store as well", .timeLimit(.minutes(1)))
    func online() async throws {
        let report = try await report(of: OnlineScenario(callsAtOnce: 2, duration: .milliseconds(300)))
        #expect(!report.hasFailed, "\(report.failures) \(report.violations)")
        #expect(try #require(value("calls", in: report)) > 0)
        #expect(report.latencies.map(\.key) == CallStage.allCases.map(\.rawValue))
        #expect(report.latencies.allSatisfy { $0.count > 0 })
    }

    @Test("a server that cannot start is told of with its own words")
    func noServer() async throws {
        let error = await #expect(throws: LoadError.self) {
            try await ServerProcess.start(executable: Self.reveille, shards: 0)
        }
        #expect(error?.description.contains("--shards: 0 is out of range; give 1 to 64") == true)
    }

    @Test("a server that is killed is told of with the signal", .timeLimit(.minutes(1)))
    func killedServer() async throws {
        let server = try await ServerProcess.start(executable: Self.reveille)
        defer { server.removeData() }
        kill(server.pid, SIGKILL)
        while server.isRunning { await Task.yield() }
        let problem = try #require(await server.stop())
        #expect(problem.contains("killed by signal 9"))
        #expect(throws: LoadError.self) { try UsageSnapshot.take(server: server.pid) }
    }

    @Test("more connections than descriptors are refused beforehand")
    func descriptors() throws {
        let scenario = RegisterScenario(sessions: 1_000)
        try scenario.checkDescriptors(limit: 1_200)
        #expect(throws: LoadError.self) { try scenario.checkDescriptors(limit: 1_199) }
    }

    @Test("a candidate carries its number there and back, and no other candidate has one")
    func candidateNumbers() {
        let numbers = CandidateNumbers(count: 64)
        #expect((0..<64).allSatisfy { numbers.number(of: numbers[$0]) == $0 })
        let beyond = CandidateNumbers(count: 65)[64]
        #expect(numbers.number(of: beyond) == nil)
        #expect(numbers.number(of: RawJSON(bytes: Array("{}".utf8))) == nil)
    }
}
