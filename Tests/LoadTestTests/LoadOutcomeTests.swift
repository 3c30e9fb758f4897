import Testing

@testable import LoadTest

@Suite("The results of a run, as they arrive") struct LoadOutcomeTests {
    private static let start = ContinuousClock.now

    /// Of a run with a warm-up of 1 s.
    private func outcome(threads: Int = 1, duration: Int) -> LoadOutcome {
        var plan = LoadPlan(.online, pace: .open(rate: 1), target: .own(LoadTarget.OwnServer(executable: "")))
        plan.duration = .seconds(duration)
        plan.threads = threads
        var outcome = LoadOutcome(plan)
        outcome.schedule = LoadSchedule(plan, start: Self.start)
        return outcome
    }

    private func at(_ seconds: Double) -> ContinuousClock.Instant { Self.start + .milliseconds(Int64(seconds * 1000)) }

    private func second(
        _ end: Double, completed: Int, underWay: Int = 0, milliseconds: Int? = nil, cpu: Double = 0
    ) -> Recorder.Second {
        var second = Recorder.Second(end: at(end), isCounted: end > 1)
        second.underWay = underWay
        second.completed = completed
        second.time.cpu = .milliseconds(Int64(cpu * 1000))
        if let milliseconds {
            var latencies = Latencies()
            latencies.record(.milliseconds(milliseconds))
            second.latencies = latencies
        }
        return second
    }

    @Test("the progress is of the present phase, not of the one before")
    func progress() {
        var outcome = outcome(duration: 5)
        outcome.add(seconds: [[second(0, completed: 0), second(1, completed: 70, milliseconds: 9)]])
        var failures = FailureCounts()
        failures.failed = 3
        let before = outcome.progress(at: at(0.9), failures: FailureCounts())
        #expect(before.phase == .warmUp && before.rate == 70 && before.p99 > 8_900)
        let measuring = outcome.progress(at: at(1.1), failures: failures)
        #expect(measuring.phase == .measuring && measuring.rate == nil && measuring.p99 == 0)
        #expect(measuring.failures == failures)
        outcome.add(seconds: [[second(2, completed: 50, milliseconds: 4)]])
        let later = outcome.progress(at: at(2.1), failures: failures)
        #expect(later.rate == 50 && (3_990...4_010).contains(later.p99))
    }

    @Test("a second whose server was sampled late has no cores, and the others have")
    func lateTicks() {
        var outcome = outcome(duration: 3)
        outcome.add(seconds: [(0...4).map { second(Double($0), completed: 1) }])
        func take(_ planned: Double, at moment: Double, cpu: Int) {
            let usage = ProcessUsage(residentBytes: 1, cpu: .milliseconds(cpu), descriptors: 1)
            outcome.take(at(planned), usage, at: at(moment))
        }
        take(1, at: 1, cpu: 0)
        take(2, at: 2.75, cpu: 875)
        take(3, at: 3, cpu: 960)
        take(4, at: 4, cpu: 1_460)
        let series = ReportBuilder(outcome).report(audit: nil).series
        #expect(series.map { $0.serverCores.map { ($0 * 1_000).rounded() } } == [500, nil, 500])
    }

    @Test("of an hour keep the distributions of the last seconds only, and the percentiles of all")
    func memory() {
        var outcome = outcome(threads: 2, duration: 3600)
        outcome.add(seconds: [[second(0, completed: 0)], [second(0, completed: 0)]])
        for index in 1...3600 {
            let end = Double(index)
            outcome.add(seconds: [[second(end, completed: 1, milliseconds: 1)], []])
            // The other thread comes later.
            if index > 1 { outcome.add(seconds: [[], [second(end - 1, completed: 2, milliseconds: 3)]]) }
        }
        #expect(outcome.seconds.count == 3601)
        #expect(outcome.seconds.count { $0.latencies != nil } <= 2)
        let third = outcome.seconds[3]
        #expect(third.completed == 3)
        #expect((995...1_005).contains(third.p50) && (2_990...3_010).contains(third.p99))
    }

    @Test("a second that a thread closed before it was known that all was done belongs to the last one")
    func lastSecond() {
        var outcome = outcome(threads: 2, duration: 100)
        outcome.add(seconds: [
            [second(0, completed: 0), second(1, completed: 0)], [second(0, completed: 0), second(1, completed: 0)],
        ])
        // All is done at 1.9995 s; the first thread closes its second at 2 s before it is told.
        outcome.schedule?.cut(at: at(1.9995))
        outcome.add(seconds: [[second(2, completed: 4, underWay: 3, milliseconds: 8, cpu: 0.4)], []])
        outcome.add(seconds: [
            [], [second(1.9995, completed: 5, underWay: 4, milliseconds: 8, cpu: 0.5)],
        ])
        outcome.add(seconds: [[second(2, completed: 0, underWay: 2, milliseconds: 1, cpu: 0.4)], []])
        let series = ReportBuilder(outcome).report(audit: nil).series
        #expect(series.map(\.completed) == [9])
        #expect(series.map(\.underWay) == [6])
        #expect(series.allSatisfy { 7_900...8_100 ~= $0.p50 }, "\(series)")
        let own = series.compactMap(\.ownCores)
        #expect(own.count == 1 && own.allSatisfy { (0.85...0.95).contains($0) }, "\(own)")
    }
}
