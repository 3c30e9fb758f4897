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

    private func outcome(sessions: Int, at target: LoadTarget? = nil) -> LoadOutcome {
        var plan = ScenarioRunner.plan(.online, .closed(concurrency: 1))
        if let target { plan.target = target }
        plan.duration = .seconds(10)
        var outcome = LoadOutcome(plan)
        outcome.schedule = LoadSchedule(plan, start: Self.start)
        outcome.sessionsOpened = sessions
        return outcome
    }

    private func metrics(started: Double, cpu: Double, calls: Double) -> [String: Double] {
        [
            "process_start_time_seconds": started, "process_cpu_seconds_total": cpu,
            "reveille_calls_invited_total": calls, "reveille_pushes_intended_total": calls,
            "process_resident_memory_bytes": 50_000_000 + 1_000 * calls,
        ]
    }

    @Test(
        "includes the calls of other clients, which is a doubt",
        arguments: [(1_090, false), (1_200, true), (5_000, true)])
    func others(calls: Double, isDoubt: Bool) {
        let running = LoadTarget.RunningServer(url: "ws://127.0.0.1:1", secretFile: "")
        #expect(doubts(ofOthers: calls, at: .running(running)).count == (isDoubt ? 1 : 0))
        #expect(doubts(ofOthers: calls, at: nil) == [], "a server of the run's own")
    }

    /// Of 1,000 calls, while the server took in so many.
    private func doubts(ofOthers calls: Double, at target: LoadTarget?) -> [String] {
        var outcome = outcome(sessions: 2_000, at: target)
        let recorder = Recorder()
        recorder.schedule = outcome.schedule
        recorder.firstStage = .inviteResult
        for _ in 0..<1_000 {
            let due = Self.start + .seconds(2)
            recorder.passed(.inviteResult, since: due, at: due + .milliseconds(1))
            recorder.completed()
        }
        outcome.add([
            ThreadResult(
                recorded: recorder.result, seconds: [], figures: [], stages: [.inviteResult], name: "phones-0")
        ])
        outcome.began = moment(2, metrics(started: 1_000, cpu: 3, calls: 200))
        outcome.ended = moment(12, metrics(started: 1_000, cpu: 4, calls: 200 + calls))
        return ReportBuilder(outcome).doubts.filter { $0.contains("others use it too") }
    }

    @Test("is left out over a restart of the server, which is a doubt")
    func restarted() {
        // The later start alone tells of the second: it has counted more than the first. The clock is put right.
        for (started, cpu, calls, isAnother) in [
            (5_000.0, 1.0, 50.0, true), (5_000, 9, 900, true), (1_000, 1, 900, true), (1_001, 9, 900, false),
        ] {
            var outcome = outcome(sessions: 2_000)
            outcome.ready = moment(0, metrics(started: 1_000, cpu: 2, calls: 100))
            outcome.opened = moment(1, metrics(started: 1_000, cpu: 2.5, calls: 100))
            outcome.began = moment(2, metrics(started: 1_000, cpu: 3, calls: 200))
            outcome.ended = moment(12, metrics(started: started, cpu: cpu, calls: calls))
            // Nobody answers.
            outcome.over = moment(13)
            var report = ReportBuilder(outcome).report(audit: nil)
            #expect(report.doubts.contains { $0.hasPrefix("the server was restarted") } == isAnother, "\(started)")
            #expect((report.figure("server_cores_by_metrics") == nil) == isAnother, "\(started)")
            // With all sessions open it was the same one.
            #expect(report.figure("server_memory_per_session") == 0)
            outcome.over = outcome.ended
            outcome.opened = outcome.ended
            report = ReportBuilder(outcome).report(audit: nil)
            #expect((report.figure("server_calls") == nil) == isAnother, "\(started)")
            #expect((report.figure("server_memory_per_session") == nil) == isAnother, "\(started)")
        }
    }

    @Test("stages have the order in which a call reaches them, not the workload's")
    func stages() {
        var outcome = outcome(sessions: 1)
        let recorder = Recorder()
        recorder.schedule = LoadSchedule(outcome.plan, start: .now - .seconds(5))
        let stages: [LoadStage] = [
            .inviteResult, .hangupEnded, .lastOnline, .lastTold, .answerTold, .firstRing, .lastRing,
        ]
        for stage in stages { recorder.passed(stage, since: .now) }
        outcome.add([
            ThreadResult(recorded: recorder.result, seconds: [], figures: [], stages: stages, name: "phones-0")
        ])
        #expect(
            ReportBuilder(outcome).report(audit: nil).stages.map(\.key) == [
                "invite_result", "first_ring", "last_told", "last_ring", "last_online", "answer_told", "hangup_ended",
            ])
    }

    @Test("is unknown without metrics, with advice on their address only if they never were there")
    func metricsAddress() {
        let known = metrics(started: 1_000, cpu: 2, calls: 100).merging(["reveille_ledger_violations": 0]) { $1 }
        let anew = metrics(started: 5_000, cpu: 1, calls: 1).merging(["reveille_ledger_violations": 0]) { $1 }
        for (before, after, url, words) in [
            (nil, nil, nil, ["name them with --metrics-url", "or its metrics with --metrics-url"]),
            (
                nil, nil, "http://x/m",
                ["look whether they are at http://x/m", "or look whether its metrics are at http://x/m"]
            ),
            (known, nil, nil, ["could be read before the load, and not at", "could not be read after it"]),
            (known, anew, nil, []), (known, known, nil, []),
        ] as [([String: Double]?, [String: Double]?, String?, [String])] {
            var running = LoadTarget.RunningServer(url: "ws://x", secretFile: "/x")
            running.metricsURL = url
            var plan = ScenarioRunner.plan(.online, .closed(concurrency: 1))
            plan.target = .running(running)
            var outcome = LoadOutcome(plan)
            outcome.schedule = LoadSchedule(plan, start: Self.start)
            (outcome.ready, outcome.opened) = (moment(0, before ?? [:]), moment(1, before ?? [:]))
            outcome.began = moment(2, before ?? [:])
            (outcome.ended, outcome.over) = (moment(12, after ?? [:]), moment(13, after ?? [:]))
            let report = ReportBuilder(outcome).report(audit: nil)
            for word in words { #expect(report.doubts.contains { $0.contains(word) }, "\(word): \(report.doubts)") }
            let asked = report.doubts.filter {
                $0.contains("metrics") && !$0.contains("only the push ledger was audited")
            }
            #expect(asked.count == words.count, "\(asked)")
        }
    }

    @Test("messages dropped by its rate limit during the run are a doubt, with the limit to raise")
    func dropped() {
        let figure = #"reveille_notifications_dropped_total{reason="rate_limited"}"#
        for (before, after, count) in [(0.0, 0.0, 0), (40, 40, 0), (40, 852, 812)] {
            var outcome = outcome(sessions: 1)
            outcome.ready = moment(
                0, [figure: before, #"reveille_notifications_dropped_total{reason="overloaded"}"#: 7])
            outcome.over = moment(
                13, [figure: after, #"reveille_notifications_dropped_total{reason="overloaded"}"#: 9])
            let doubts = ReportBuilder(outcome).report(audit: nil).doubts.filter { $0.contains("rate limit") }
            #expect(doubts.count == (count > 0 ? 1 : 0), "\(doubts)")
            #expect(
                doubts.allSatisfy { $0.hasPrefix("the server dropped \(count) messages without an answer") },
                "\(doubts)")
            #expect(doubts.allSatisfy { $0.contains("limits.messages_per_second") }, "\(doubts)")
        }
    }

    @Test("candidates that do not arrive at a target without metrics are a doubt about its rate limit")
    func lostCandidates() {
        for (scenario, lost, isGone) in [
            (LoadPlan.Scenario.relay, 5, false), (.relay, 5, true), (.relay, 0, false), (.online, 5, false),
        ] {
            var plan = ScenarioRunner.plan(scenario, .closed(concurrency: 1))
            plan.target = .running(LoadTarget.RunningServer(url: "ws://x", secretFile: "/x"))
            var outcome = LoadOutcome(plan)
            outcome.schedule = LoadSchedule(plan, start: Self.start)
            outcome.lostServer = isGone
            let recorder = Recorder()
            recorder.notOver("not over", count: lost)
            outcome.add([
                ThreadResult(recorded: recorder.result, seconds: [], figures: [], stages: [.message], name: "phones-0")
            ])
            let doubts = ReportBuilder(outcome).doubts.filter { $0.contains("rate limit") }
            #expect(doubts.count == (scenario == .relay && lost > 0 && !isGone ? 1 : 0), "\(doubts)")
            #expect(doubts.allSatisfy { $0.hasPrefix("5 candidates were sent and did not arrive") }, "\(doubts)")
        }
    }

    @Test("memory per session needs a thousand sessions")
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
