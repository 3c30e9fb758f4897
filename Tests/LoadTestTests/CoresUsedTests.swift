import Testing

@testable import LoadTest

@Suite("CPU time between two moments") struct CoresUsedTests {
    private static let start = ContinuousClock.now

    private func moment(after seconds: Int, server cpu: Int) -> RunMoment {
        let used = ProcessUsage(residentBytes: 1, cpu: .milliseconds(cpu), descriptors: 1)
        return RunMoment(
            at: Self.start + .seconds(seconds), server: used, simulator: nil, own: used,
            machine: .milliseconds(3 * cpu),
            metrics: nil)
    }

    @Test("is, by the server's own counts of CPU time and of pushes, over the time between its answers")
    func byMetrics() throws {
        func moment(_ seconds: Int, answered: Int, cpu: Int, pushes: Int) -> RunMoment {
            let wire = "reveille_push_wire_seconds"
            let labels = [#"provider="apns",environment="sandbox""#, #"provider="fcm",environment="production""#]
            let text = """
                process_cpu_seconds_total \(cpu)
                reveille_pushes_intended_total \(pushes)
                \(wire)_bucket{\(labels[0]),le="0.01"} \(pushes / 2)
                \(wire)_bucket{\(labels[0]),le="0.025"} \(pushes)
                \(wire)_count{\(labels[0])} \(pushes)
                \(wire)_bucket{\(labels[1]),le="0.01"} \(pushes)
                \(wire)_bucket{\(labels[1]),le="0.025"} \(pushes)
                \(wire)_count{\(labels[1])} \(pushes)

                """
            return RunMoment(
                at: Self.start + .seconds(seconds), server: nil, simulator: nil, own: nil, machine: nil,
                metrics: ServerMetrics(text: text[...]), metricsAt: Self.start + .seconds(answered))
        }
        let (first, last) = (
            moment(0, answered: 0, cpu: 1, pushes: 10), moment(10, answered: 15, cpu: 4, pushes: 310)
        )
        let used = CoresUsed(first, last)
        #expect(used.serverByMetrics == 0.2)
        #expect(used.microsecondsByMetrics(each: 1_000) == 3_000)
        #expect(used.microsecondsByMetrics(each: 0) == nil)
        var plan = ScenarioRunner.plan(.wake, .closed(concurrency: 1))
        plan.duration = .seconds(10)
        var outcome = LoadOutcome(plan)
        outcome.schedule = LoadSchedule(plan, start: Self.start)
        (outcome.began, outcome.ended) = (first, last)
        let report = ReportBuilder(outcome).report(audit: nil)
        #expect(report.figure("pushes_per_second") == 20)
        #expect(report.figure("pushes_written_in_10ms") == 0.75)
        #expect(CoresUsed(self.moment(after: 0, server: 1), last).serverByMetrics == nil)
    }

    @Test("is divided among the operations, however long after the last of them it was read")
    func each() {
        let first = moment(after: 0, server: 100)
        let soon = CoresUsed(first, moment(after: 2, server: 1_100))
        let late = CoresUsed(first, moment(after: 4, server: 1_100))
        #expect(soon.server == 0.5 && late.server == 0.25)
        #expect(soon.microseconds(soon.server, each: 2_000) == 500)
        #expect(late.microseconds(late.server, each: 2_000) == 500)
        #expect(late.microseconds(late.server, each: 0) == nil)
        #expect(late.microseconds(late.simulator, each: 10) == nil)
        #expect(soon.others(soon.server) == 0.5)
    }
}
