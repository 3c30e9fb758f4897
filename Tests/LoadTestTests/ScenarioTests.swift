import CallStore
import Foundation
import StoreInterface
import Synchronization
import TestCleanup
import Testing

@testable import LoadTest

/// Each against a real server process, one after the other.
@Suite("A load test", .serialized, .timeLimit(.minutes(2))) struct ScenarioTests {
    private func plan(_ scenario: LoadPlan.Scenario, _ pace: LoadPlan.Pace) -> LoadPlan {
        ScenarioRunner.plan(scenario, pace)
    }

    private func report(_ plan: LoadPlan) async throws -> LoadReport { try await ScenarioRunner.report(plan) }

    /// What holds for every run in which nothing failed.
    private func expectSound(_ report: LoadReport) throws {
        #expect(report.failures.isEmpty, "\(report.failures)")
        #expect(report.violations.isEmpty, "\(report.violations)")
        let completed = try report.value("completed")
        #expect(completed > 0)
        #expect(try report.value("completed_in_all") >= completed)
        #expect(report.series.reduce(0) { $0 + $1.completed } <= Int(try report.value("completed_in_all")))
        #expect(!report.series.isEmpty)
        #expect(Set(report.figures.map(\.key)).count == report.figures.count)
        #expect(try report.value("server_cores_by_metrics") > 0)
        #expect(try report.value("server_memory_before") > 1_000_000)
    }

    @Test("of online calls in a closed loop completes each call that the server took in")
    func online() async throws {
        var plan = plan(.online, .closed(concurrency: 4))
        plan.threads = 2
        plan.sessions = 6
        plan.hold = .milliseconds(5)
        let report = try await report(plan)
        try expectSound(report)
        #expect(try report.value("server_calls") == report.value("completed_in_all"))
        #expect(try report.value("sessions") == 14)
        #expect(
            report.stages.map(\.key) == [
                "invite_result", "invite_incoming", "invite_ringing", "answer_answered", "answer_connected",
                "hangup_ended",
            ])
        #expect(report.stages.allSatisfy { $0.count > 0 && $0.p50 <= $0.p99 && $0.p99 <= $0.max })
        #expect(report.figures.contains { $0.key == "own_thread_1_cores" })
        let isCounted = ThreadTime.current.waiting != nil
        #expect(report.figures.contains { $0.key == "own_thread_1_waiting" } == isCounted)
        #expect(!report.figures.contains { $0.key == "not_begun" })
    }

    @Test("of online calls in an open loop begins what was due, and ends calls as the answer ratio says")
    func openLoop() async throws {
        var plan = plan(.online, .open(rate: 15))
        plan.duration = .seconds(2)
        plan.ramp = .milliseconds(100)
        plan.answerRatio = 0.4
        plan.hasDescriptions = true
        plan.seed = 3
        let report = try await report(plan)
        try expectSound(report)
        let begun = try Int(report.value("begun"))
        #expect((15...40).contains(begun))
        #expect(try report.value("server_calls") == report.value("completed_in_all"))
        #expect(try report.value("not_begun") == 0)
        let answered = try #require(report.timed("answer_connected")).count
        #expect(answered > 0 && answered < begun)
        #expect(try #require(report.timed("invite_result")).count == begun)
        #expect(try report.value("lateness_max") > 0)
    }

    @Test("tells of calls that were due and that there was no phone for")
    func overload() async throws {
        var plan = plan(.online, .open(rate: 400))
        // Far longer than there are places for, so that they run out.
        plan.places = 8
        plan.hold = .milliseconds(200)
        let report = try await report(plan)
        let notBegun = try report.value("not_begun")
        #expect(notBegun > 20)
        #expect(report.failures == [Recorder.nobodyFree: Int(notBegun)])
        #expect(report.hasFailed && report.violations.isEmpty)
        #expect(report.doubts.contains { $0.contains("lower than asked for") })
        #expect(try report.value("server_calls") == report.value("completed_in_all"))
    }

    @Test("of sessions opens each of them once, and ends with the last")
    func register() async throws {
        var plan = plan(.register, .closed(concurrency: 5))
        plan.sessions = 40
        plan.threads = 2
        plan.duration = .seconds(3000)
        let report = try await report(plan)
        try expectSound(report)
        #expect(try report.value("sessions") == 40)
        #expect(try report.value("completed") == 40)
        #expect(report.stages.map(\.key) == ["open"])
        #expect(report.stages.first?.count == 40)
        #expect(try report.value("seconds") < 60)
        #expect(!report.figures.contains { $0.key.hasPrefix("server_memory_per_session") })
    }

    @Test(
        "of sessions in an open loop counts those of the ramp, and what comes after the last is not one not begun",
        arguments: [Duration.zero, .seconds(30)])
    func registerAtRate(ramp: Duration) async throws {
        var plan = plan(.register, .open(rate: 100))
        plan.sessions = 20
        plan.ramp = ramp
        let report = try await report(plan)
        try expectSound(report)
        #expect(try report.value("completed") == 20)
        #expect(report.stages.first?.count == 20)
        #expect(try report.value("not_begun") == 0)
    }

    /// A server that is stopped when the measured part begins, and goes on once a second of it has shown that by the
    /// calls that came meanwhile, or three are over.
    private struct Stall {
        private var pid: pid_t?
        private var stoppedAt: ContinuousClock.Instant?
        /// How many calls were under way when it went on.
        private(set) var stuck: Int?

        mutating func take(_ progress: LoadProgress, _ mark: String) {
            guard stuck == nil, let pid = pid ?? ScenarioTests.process(with: mark) else { return }
            self.pid = pid
            if stoppedAt == nil, progress.phase == .measuring {
                kill(pid, SIGSTOP)
                stoppedAt = .now
            } else if let stoppedAt, ContinuousClock.now - stoppedAt >= .seconds(progress.underWay >= 8 ? 1 : 3) {
                kill(pid, SIGCONT)
                stuck = progress.underWay
            }
        }
    }

    private func runWithStall() async throws -> (report: LoadReport, stuck: Int) {
        let mark = "load-\(UUID().uuidString)"
        var plan = ScenarioRunner.plan(.online, .open(rate: 12), mark: mark)
        plan.duration = .seconds(4)
        let stall = Mutex(Stall())
        let report = try await LoadTest(plan: plan).run { progress in
            stall.withLock { $0.take(progress, mark) }
        }
        return (report, try #require(stall.withLock { $0.stuck }, "the server was stopped and went on"))
    }

    @Test("of a server that stalls for a second shows that second in its times, with nothing missing among them")
    func stalled() async throws {
        // A server that is stopped in the middle of its work takes the stop for overload, and refuses what it reads first.
        var (report, stuck) = try await runWithStall()
        for _ in 0..<9 where !report.failures.isEmpty && report.failures.keys.allSatisfy({ $0.contains("overloaded") })
        {
            (report, stuck) = try await runWithStall()
        }
        #expect(stuck >= 8)
        try expectSound(report)
        #expect(try report.value("not_begun") == 0)
        let invite = try #require(report.timed("invite_result"))
        #expect(invite.count == Int(try report.value("begun")))
        #expect(invite.p99 >= 800_000)
        // Half of them did not wait for it; for how little they waited is the machine's affair.
        #expect(invite.p50 < invite.p99 * 3 / 4 && invite.min < 800_000)
    }

    @Test(
        "that is cancelled while calls are held hangs them up, and calls none of them a failure", arguments: [0, 2])
    func cancelledWhileHolding(standing: Int) async throws {
        var plan = plan(.online, .closed(concurrency: 4))
        plan.standing = standing
        plan.hold = .seconds(60)
        plan.duration = .seconds(600)
        let report = try await ScenarioRunner.report(plan) { $0.phase == .measuring && $0.underWay == 4 }
        #expect(report.failures.isEmpty && report.violations.isEmpty, "\(report.failures) \(report.violations)")
        #expect(try report.value("cut_short") == 0)
        #expect(try report.value("completed_in_all") == 4)
    }

    @Test("of candidates and session descriptions has each arrive once at the other side, as it was sent")
    func relay() async throws {
        let report = try await report(plan(.relay, .closed(concurrency: 24)))
        try expectSound(report)
        #expect(try report.value("server_calls") == 3)
        #expect(try report.value("completed") > 24)
        #expect(report.stages.map(\.key) == ["message"])
        // One in eight is a description: four standard deviations at most beside it.
        let all = try report.value("completed_in_all")
        #expect(abs(try report.value("descriptions") - all / 8) <= 4 * (all * 7 / 64).squareRoot())
    }

    @Test("of cut connections resumes each session, with all that was sent meanwhile")
    func churn() async throws {
        let report = try await report(plan(.churn, .open(rate: 40)))
        try expectSound(report)
        #expect(report.stages.map(\.key) == ["resume"])
        #expect(try report.value("server_resumed") == report.value("completed_in_all"))
    }

    @Test("of a server that runs already leaves it running, and knows it by its metrics alone")
    func runningServer() async throws {
        let folder = try RunFolder()
        defer { folder.remove() }
        let server = try await ServerProcess.start(
            LoadTarget.OwnServer(executable: ScenarioRunner.reveille), folder: folder.path)
        var plan = plan(.online, .closed(concurrency: 2))
        var running = LoadTarget.RunningServer(url: server.url, secretFile: server.folder + "/client-token.key")
        running.metricsURL = server.metricsURL
        plan.target = .running(running)
        let first = await Result { try await report(plan) }
        // Its calls of the first run are not in the way of the second.
        let second = await Result { try await report(plan) }
        #expect(server.process.isRunning)
        #expect(await server.process.stop() == nil)
        for report in [try first.get(), try second.get()] {
            try expectSound(report)
            #expect(try report.value("server_calls") == report.value("completed_in_all"))
            #expect(!report.figures.contains { $0.key == "server_cores" })
        }
        #expect(try await server.audit().violations.isEmpty)
    }

    /// Counts the threads of phones in its process.
    @Test("that is cancelled reports what was done so far, and leaves nothing behind", .ownProcess)
    func cancelled() async throws {
        let mark = "load-\(UUID().uuidString)"
        var plan = ScenarioRunner.plan(.online, .closed(concurrency: 2), mark: mark)
        plan.duration = .seconds(600)
        let found = Mutex<[String]?>(nil)
        let report = try await ScenarioRunner.report(plan) { progress in
            guard progress.phase == .measuring, progress.rate ?? 0 > 0 else { return false }
            found.withLock { if $0 == nil { $0 = Self.process(with: mark).map(Self.commandLine(of:)) } }
            return true
        }
        #expect(report.failures.isEmpty && report.violations.isEmpty, "\(report.failures) \(report.violations)")
        #expect(try report.value("completed") > 0)
        #expect(try report.value("seconds") < 300)
        #expect(report.doubts.contains { $0.contains("the run was interrupted") })
        let arguments = try #require(found.withLock { $0 })
        let data = try #require(arguments.firstIndex(of: "--data").map { arguments[$0 + 1] })
        #expect(Self.process(with: mark) == nil)
        #expect(!FileManager.default.fileExists(atPath: data))
        // Its threads end by themselves, soon.
        let deadline = ContinuousClock.now + .seconds(40)
        while Self.phoneThreads > 0, ContinuousClock.now < deadline { await Task.yield() }
        #expect(Self.phoneThreads == 0)
    }

    /// Threads of phones in this process.
    private static var phoneThreads: Int {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.count { thread in
            let name = FileManager.default.contents(atPath: "/proc/self/task/\(thread)/comm") ?? Data()
            return String(decoding: name, as: UTF8.self).hasPrefix("phones-")
        }
    }

    @Test("whose server cannot start says so in the server's own words")
    func noServer() async throws {
        var plan = plan(.online, .closed(concurrency: 1))
        var own = LoadTarget.OwnServer(executable: ScenarioRunner.reveille)
        own.shards = 0
        plan.target = .own(own)
        let test = LoadTest(plan: plan)
        let error = await #expect(throws: LoadError.self) { _ = try await test.run { _ in } }
        #expect(error?.description.contains("--shards: 0 is out of range; give 1 to 64") == true)
    }

    @Test(
        "whose server is killed ends, and tells of the signal", arguments: [LoadPlan.Scenario.online, .churn, .mixed])
    func killedServer(scenario: LoadPlan.Scenario) async throws {
        let mark = "load-\(UUID().uuidString)"
        var plan = ScenarioRunner.plan(scenario, .closed(concurrency: scenario == .mixed ? 20 : 2), mark: mark)
        plan.duration = .seconds(600)
        let report = try await LoadTest(plan: plan).run { progress in
            guard progress.phase == .measuring, let pid = Self.process(with: mark) else { return }
            kill(pid, SIGKILL)
        }
        #expect(report.hasFailed)
        #expect(report.failures.keys.contains { $0.contains("killed by signal 9") }, "\(report.failures)")
        #expect(report.failures.keys.contains { $0.contains("session lost") })
        #expect(!report.failures.keys.contains { $0.contains(#"{""#) }, "\(report.failures)")
    }

    @Test("whose server is killed while sessions are kept ends, and tells how long they were to be kept before")
    func killedWhileHolding() async throws {
        let mark = "load-\(UUID().uuidString)"
        var plan = ScenarioRunner.plan(.register, .closed(concurrency: 2), mark: mark)
        plan.sessions = 4
        plan.hold = .seconds(600)
        let report = try await LoadTest(plan: plan).run { progress in
            guard progress.phase == .holding, let pid = Self.process(with: mark) else { return }
            #expect(progress.of == .seconds(600) && progress.elapsed < .seconds(60))
            kill(pid, SIGKILL)
        }
        #expect(report.failures.keys.contains { $0.contains("killed by signal 9") }, "\(report.failures)")
        #expect(try report.value("completed") == 4)
    }

    @Test("whose push simulator is killed ends as well, with a report that says so")
    func killedSimulator() async throws {
        let mark = "load-\(UUID().uuidString)"
        var plan = ScenarioRunner.plan(.wake, .closed(concurrency: 2), mark: mark)
        plan.duration = .seconds(600)
        let report = try await LoadTest(plan: plan).run { progress in
            guard progress.phase == .measuring, progress.rate ?? 0 > 0, let pid = Self.simulator(besideServer: mark)
            else { return }
            kill(pid, SIGKILL)
        }
        #expect(
            report.failures.keys.contains { $0.contains("simulator") && $0.contains("killed by signal 9") },
            "\(report.failures)")
        #expect(
            report.failures.keys.contains { $0.hasPrefix("the push provider's counts could not be read: no push sim") })
        #expect(report.violations.isEmpty)
        #expect(try report.value("completed_in_all") > 0)
    }

    private static func commandLine(of process: pid_t) -> [String] {
        let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
        return line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The process that was started with the argument `mark`.
    private static func process(with mark: String) -> pid_t? { process { $0.contains(mark) } }

    /// The push simulator on the folder that is given to the server with the argument `mark`.
    private static func simulator(besideServer mark: String) -> pid_t? {
        let arguments = process(with: mark).map(commandLine(of:)) ?? []
        guard let option = arguments.firstIndex(of: "--push-sim-data"), option + 1 < arguments.count else { return nil }
        let folder = arguments[option + 1]
        return process { $0.contains("push-sim") && $0.contains(folder) }
    }

    private static func process(where isFound: ([String]) -> Bool) -> pid_t? {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.compactMap { pid_t($0) }.first { isFound(commandLine(of: $0)) }
    }

    @Test("starts a push simulator that servers can push to, and stops it")
    func simulator() async throws {
        let folder = try RunFolder()
        defer { folder.remove() }
        let simulator = try await SimulatorProcess.start(
            executable: ScenarioRunner.reveille, folder: folder.path, seed: 1)
        let server = try await Result {
            try await ServerProcess.start(
                LoadTarget.OwnServer(executable: ScenarioRunner.reveille), folder: folder.path,
                simulator: simulator.folder)
        }.get()
        #expect(server.process.isRunning && simulator.process.isRunning)
        #expect(await server.process.stop() == nil)
        #expect(await simulator.process.stop() == nil)
        #expect(!server.process.isRunning && !simulator.process.isRunning)
    }
}

extension LoadReport {
    fileprivate func value(_ key: String) throws -> Double { try #require(figure(key)) }
}
