import Foundation
import Testing

@testable import LoadTest

@Suite("The doubts of a report") struct LoadDoubtsTests {
    private typealias Rule = (late: UInt64, p50: UInt64, isLate: Bool)

    @Test("have lateness that is a large share of the latencies, or long in any case")
    func lateness() {
        let rules: [Rule] = [
            (100, 1_000, false), (101, 1_000, true), (101, 2_020, false), (900, 2_000, true), (2_400, 60_000, false),
            (5_000, 1_000_000, false), (5_001, 1_000_000, true), (0, 0, false),
        ]
        for rule in rules {
            #expect(LoadDoubts.isLate(p99: rule.late, stage: rule.p50) == rule.isLate, "\(rule)")
        }
    }

    @Test("are in the article in the same words")
    func words() throws {
        let article = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Sources/LoadTest/LoadTest.docc/LoadReports.md")
        let text = try String(contentsOf: article, encoding: .utf8).split(whereSeparator: \.isWhitespace)
        #expect(text.joined(separator: " ").contains(LoadDoubts.rules + "."))
    }

    // MARK: In a report

    /// Of 2 s that count, in which all went well.
    private func outcome(_ plan: LoadPlan, _ change: (Recorder) -> Void) -> LoadOutcome {
        var outcome = LoadOutcome(plan)
        let schedule = LoadSchedule(plan, start: .now - .seconds(1))
        outcome.schedule = schedule
        let recorder = Recorder()
        recorder.schedule = schedule
        recorder.firstStage = .inviteResult
        for _ in 0..<2_000 {
            recorder.passed(.inviteResult, since: .now - .milliseconds(2), at: .now)
            recorder.completed()
        }
        change(recorder)
        outcome.add([
            ThreadResult(
                recorded: recorder.result, seconds: [], figures: [], stages: [.inviteResult], name: "phones-0")
        ])
        return outcome
    }

    private func plan(_ pace: LoadPlan.Pace) -> LoadPlan {
        var plan = LoadPlan(.online, pace: pace, target: .own(LoadTarget.OwnServer(executable: "")))
        plan.warmUp = .zero
        plan.duration = .seconds(3_600)
        return plan
    }

    private func doubts(_ plan: LoadPlan, _ change: (Recorder) -> Void = { _ in }) -> [String] {
        ReportBuilder(outcome(plan, change)).doubts.filter { !$0.contains("metrics") }
    }

    private func occupied(_ count: Int, _ recorder: Recorder) {
        let start = ContinuousClock.now
        var occupancy = Occupancy(start: start)
        occupancy.set(count, at: start)
        occupancy.set(0, at: start + .seconds(1))
        recorder.note(occupancy)
    }

    @Test("have a closed loop that was short of phones, or late")
    func closed() {
        let plan = plan(.closed(concurrency: 100))
        #expect(doubts(plan) { occupied(96, $0) } == [])
        #expect(
            doubts(plan) { occupied(94, $0) }.first?.hasPrefix("94.0 of 100 operations were under way on average")
                == true)
        let late = doubts(plan) { recorder in
            occupied(100, recorder)
            recorder.lagged(.microseconds(900), due: .now)
        }
        #expect(late.count == 1 && late[0].contains("at least 0.9 ms late"), "\(late)")
    }

    @Test(
        "name the cause of lateness that the figures show",
        arguments: [
            (0.9, 0.0, 1.0, "the load generator was a bottleneck: its busiest thread used 90 % of a core; use more"),
            (0.1, 0.0, 0.4, "most likely because other processes used 0.4 cores (the load generator's busiest thread"),
            (0.1, 0.3, 0.2, "most likely because the host of this virtual machine took 0.3 cores (the load"),
            (0.6, 0.0, 0.0, "most likely because the load generator's busiest thread used 60 % of a core; use more"),
            (0.2, 0.05, 0.05, "the figures show no cause (the load generator's busiest thread used 20 % of a core)"),
        ])
    func cause(thread: Double, stolen: Double, others: Double, words: String) {
        let cause = LatenessCause(
            busiestThread: thread, waiting: 0.25 * thread - 0.001, stolen: stolen, others: others, machine: 1.5,
            processors: 2)
        #expect(cause.words.hasPrefix(words), "\(cause.words)")
        #expect(cause.words.contains("more threads") == (thread > 0.5))
        let full = LatenessCause(
            busiestThread: 0.6, waiting: 0.1, stolen: nil, others: nil, machine: 1.95, processors: 2)
        #expect(full.words.hasPrefix("the server and the load together saturated the machine"))
        let shared = LatenessCause(
            busiestThread: 0.6, waiting: 0.151, stolen: 0, others: 0, machine: 1.5, processors: 2)
        #expect(shared.words.hasPrefix("most likely for lack of cores: its busiest thread waited 15 %"))
    }

    @Test("a run that kills the home does not fail by the sessions that this ends")
    func kills() {
        for kills in [false, true] {
            var server = LoadTarget.OwnServer(executable: "reveille")
            if kills { server.killsHomeEvery = .seconds(10) }
            var plan = plan(.open(rate: 10))
            plan.target = .own(server)
            let lossy = outcome(plan) { $0.sessionLost("it was closed with code 1006") }
            #expect(ReportBuilder(lossy).report(audit: nil).hasFailed == !kills)
            let failing = outcome(plan) { $0.failed("the invite was refused") }
            #expect(ReportBuilder(failing).report(audit: nil).hasFailed)
        }
    }

    @Test("a run that completes nothing has failed, unless it was interrupted")
    func nothing() {
        for isStopped in [false, true] {
            var outcome = LoadOutcome(plan(.open(rate: 10)))
            outcome.schedule = LoadSchedule(outcome.plan, start: .now - .seconds(1))
            outcome.wasStopped = isStopped
            outcome.add([
                ThreadResult(
                    recorded: Recorder().result, seconds: [], figures: [], stages: [.inviteResult], name: "phones-0")
            ])
            #expect(ReportBuilder(outcome).report(audit: nil).hasFailed == !isStopped)
        }
        #expect(!ReportBuilder(outcome(plan(.open(rate: 10))) { _ in }).report(audit: nil).hasFailed)
    }

    @Test("have a saturated push simulator", arguments: [(8, false), (9, true)])
    func simulator(tenths: Int, isDoubt: Bool) {
        var outcome = outcome(plan(.closed(concurrency: 100))) { occupied(100, $0) }
        let start = ContinuousClock.now
        func moment(after seconds: Int) -> RunMoment {
            let used = ProcessUsage(residentBytes: 1, cpu: .zero, descriptors: 1)
            let simulator = ProcessUsage(residentBytes: 1, cpu: .milliseconds(100 * tenths * seconds), descriptors: 1)
            return RunMoment(
                at: start + .seconds(seconds), server: used, simulator: simulator, own: used,
                machine: .seconds(seconds),
                metrics: nil)
        }
        (outcome.began, outcome.ended) = (moment(after: 0), moment(after: 1))
        let found = ReportBuilder(outcome).doubts.filter { $0.contains("the push simulator") }
        #expect(found.count == (isDoubt ? 1 : 0), "\(found)")
    }

    @Test(
        "blame other processes for lateness on a machine that they use, also with a target",
        arguments: [true, false])
    func causeInReport(isOwn: Bool) {
        let plan = plan(.open(rate: 10))
        var outcome = outcome(plan) { $0.begun(due: .now, late: .milliseconds(20)) }
        let start = ContinuousClock.now
        func moment(after seconds: Int, machine: Int) -> RunMoment {
            let used = ProcessUsage(residentBytes: 1, cpu: .zero, descriptors: 1)
            return RunMoment(
                at: start + .seconds(seconds), server: isOwn ? used : nil, simulator: nil, own: used,
                machine: .seconds(machine), metrics: isOwn ? nil : ServerMetrics(text: "process_cpu_seconds_total 1"),
                metricsAt: isOwn ? nil : start + .seconds(seconds))
        }
        (outcome.began, outcome.ended) = (moment(after: 0, machine: 0), moment(after: 2, machine: 2))
        let late = ReportBuilder(outcome).doubts.first { $0.contains(" ms late, which") }
        #expect(late?.contains("most likely because other processes used 1.0 cores") == true, "\(late ?? "none")")
    }

    @Test("have connections on more than half of the local ports, if phones reconnect")
    func ports() {
        for (scenario, sessions, isDoubtful) in [
            (LoadPlan.Scenario.wake, 13_000, false), (.wake, 15_000, true), (.churn, 15_000, true),
            (.online, 15_000, false), (.register, 15_000, false), (.fanout, 15_000, false), (.mixed, 15_000, true),
        ] {
            var plan = LoadPlan(
                scenario, pace: .closed(concurrency: 1), target: .own(LoadTarget.OwnServer(executable: "")))
            (plan.sessions, plan.fanOut) = (sessions, 10)
            var outcome = outcome(plan) { _ in }
            outcome.localPorts = 28_232
            let found = ReportBuilder(outcome).doubts.filter { $0.contains("28232 local ports") }
            #expect(found.count == (isDoubtful ? 1 : 0), "\(scenario): \(found)")
            outcome.localPorts = nil
            #expect(!ReportBuilder(outcome).doubts.contains { $0.contains("local ports") })
        }
    }

    @Test("have operations without a latency, in either loop")
    func missing() {
        let open = doubts(plan(.open(rate: 10))) { recorder in
            recorder.notBegun()
            recorder.failed("ended: busy")
            recorder.fault("session lost")
        }
        #expect(open.contains { $0.hasPrefix("latencies cover the 2000 operations that succeeded: 2 more") })
        let closed = doubts(plan(.closed(concurrency: 1))) { recorder in
            occupied(1, recorder)
            recorder.failed("ended: busy")
        }
        #expect(closed.count == 1 && closed[0].contains(": 1 more took longer"), "\(closed)")
    }

    @Test("have operations that never ended, whatever ended the wait for them")
    func endless() {
        let plan = plan(.closed(concurrency: 1))
        let givenUp = doubts(plan) { recorder in
            occupied(1, recorder)
            recorder.notOver("not over 30.0 s after the load had ended", count: 7)
        }
        #expect(
            givenUp.count == 1
                && givenUp[0].contains("2000 operations that succeeded: 7 more took longer or never ended"),
            "\(givenUp)")
        let cutShort = doubts(plan) { recorder in
            occupied(1, recorder)
            recorder.failed("ended: busy")
            recorder.cutShort(3)
        }
        #expect(cutShort.count == 1 && cutShort[0].contains(": 4 more took longer"), "\(cutShort)")
    }

    @Test("have calls that are held longer than the warm-up")
    func held() {
        var plan = plan(.open(rate: 10))
        plan.hold = .seconds(30)
        #expect(doubts(plan).contains { $0.hasPrefix("calls are held for 30s and the warm-up is 0s") })
        plan.warmUp = .seconds(30)
        #expect(!doubts(plan).contains { $0.contains("held") })
    }
}
