import Testing

@testable import LoadTest

@Suite("What the load cost the server") struct ServerCostTests {
    private static let start = ContinuousClock.now

    /// - Parameter metrics: by name.
    private func moment(_ seconds: Int, resident: Int? = nil, _ metrics: [String: Double] = [:]) -> RunMoment {
        let text = metrics.map { "\($0.key) \($0.value)\n" }.joined()
        return RunMoment(
            at: Self.start + .seconds(seconds),
            server: resident.map { ProcessUsage(residentBytes: $0, cpu: .zero, descriptors: 1) }, simulator: nil,
            own: nil, machine: nil, metrics: metrics.isEmpty ? nil : ServerMetrics(text: text[...]),
            metricsAt: Self.start + .seconds(seconds))
    }

    private func outcome(sessions: Int) -> LoadOutcome {
        var plan = ScenarioRunner.plan(.online, .closed(concurrency: 1))
        plan.duration = .seconds(10)
        var outcome = LoadOutcome(plan)
        outcome.schedule = LoadSchedule(plan, start: Self.start)
        outcome.sessionsOpened = sessions
        return outcome
    }

    @Test("memory is not divided by a few sessions, which it is hardly that of")
    func fewSessions() {
        for (sessions, each) in [(999, nil), (1_000, 10_000), (4_000, 2_500)] as [(Int, Double?)] {
            var outcome = outcome(sessions: sessions)
            let memory = "process_resident_memory_bytes"
            outcome.ready = moment(0, resident: 50_000_000, [memory: 51_000_000])
            outcome.opened = moment(1, resident: 60_000_000, [memory: 61_000_000])
            let report = ReportBuilder(outcome).report(audit: nil)
            #expect(report.figure("server_memory_per_session") == each, "\(sessions)")
            #expect(report.figure("server_memory_per_session_by_metrics") == each, "\(sessions)")
            #expect(report.figure("server_memory_open") == 60_000_000)
        }
    }
}
