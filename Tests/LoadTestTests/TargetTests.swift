import AdminProtocol
import CallVocabulary
import Foundation
import SoftphoneKit
import SoftphoneSession
import Testing

@testable import LoadTest

/// Ways to the server, and what it keeps besides the load; against real server processes, one after the other.
@Suite("The server under load", .serialized, .timeLimit(.minutes(5))) struct TargetTests {
    private func own(_ change: (inout LoadTarget.OwnServer) -> Void = { _ in }) -> LoadTarget.OwnServer {
        var server = LoadTarget.OwnServer(executable: ScenarioRunner.reveille)
        change(&server)
        return server
    }

    /// Runs `body` with a server that runs by itself.
    private func withServer<Value>(
        _ server: LoadTarget.OwnServer, _ body: (ServerProcess) async throws -> Value
    ) async throws -> Value {
        let folder = try RunFolder()
        defer { folder.remove() }
        let process = try await ServerProcess.start(server, folder: folder.path)
        let result = await Result { try await body(process) }
        _ = await process.process.stop()
        return try result.get()
    }

    private func running(_ server: ServerProcess) -> LoadTarget.RunningServer {
        var running = LoadTarget.RunningServer(url: server.url, secretFile: server.folder + "/client-token.key")
        running.caFile = server.caFile
        running.admin = .folder(server.folder)
        return running
    }

    @Test("may speak TLS, and its sessions and its metrics are reached all the same")
    func tls() async throws {
        var plan = ScenarioRunner.plan(.register, .closed(concurrency: 4))
        plan.sessions = 20
        plan.target = .own(own { $0.usesTLS = true })
        let report = try await ScenarioRunner.report(plan)
        #expect(!report.hasFailed, "\(report.failures) \(report.violations)")
        #expect(report.figure("completed") == 20)
        #expect(try #require(report.figure("server_cores_by_metrics")) > 0)
        #expect(try #require(report.figure("server_memory_open")) > 1_000_000)
        #expect(plan.commandLine.hasSuffix(" --shards 1 --tls"))
    }

    @Test("elsewhere is believed by its own authority's word, and not without it")
    func authority() async throws {
        let (report, refusal, withoutTLS, metrics, unknown) = try await withServer(own { $0.usesTLS = true }) {
            server in
            #expect(server.url.hasPrefix("wss://"))
            var plan = ScenarioRunner.plan(.online, .closed(concurrency: 1))
            plan.target = .running(running(server))
            let report = try await ScenarioRunner.report(plan)
            var stranger = running(server)
            stranger.caFile = nil
            plan.target = .running(stranger)
            let refusal = await Result { try await ScenarioRunner.report(plan) }
            var plain = running(server)
            plain.url = "ws" + server.url.dropFirst(3)
            plan.target = .running(plain)
            let withoutTLS = await Result { try await ScenarioRunner.report(plan) }
            return (
                report, refusal, withoutTLS,
                try await MetricsClient(url: server.metricsURL, server: server.url).get(),
                try await MetricsClient(url: nil, server: server.url).get()
            )
        }
        #expect(!report.hasFailed, "\(report.failures) \(report.violations)")
        #expect(report.figure("server_calls") == report.figure("completed_in_all"))
        #expect(metrics?.residentBytes ?? 0 > 1_000_000)
        #expect(unknown == nil)
        let untrusted = #expect(throws: LoadError.self) { try refusal.get() }
        #expect(untrusted?.description.contains("certificate is not trusted: ") == true, "\(refusal)")
        #expect(untrusted?.description.hasSuffix("; name its authority's certificate with --ca-file") == true)
        let unanswered = #expect(throws: LoadError.self) { try withoutTLS.get() }
        #expect(unanswered?.description.contains("say wss:// where it speaks TLS") == true, "\(withoutTLS)")
    }

    @Test("elsewhere whose tokens are of another secret says so, with the option")
    func foreignSecret() async throws {
        let folder = try RunFolder()
        defer { folder.remove() }
        let file = folder.path + "/other.key"
        try String(repeating: "0f", count: 32).write(toFile: file, atomically: true, encoding: .utf8)
        let (opened, registered) = try await withServer(own()) { server in
            var plan = ScenarioRunner.plan(.online, .closed(concurrency: 1))
            var stranger = running(server)
            stranger.secretFile = file
            plan.target = .running(stranger)
            let opened = await Result { try await ScenarioRunner.report(plan) }
            plan.scenario = .register
            plan.sessions = 2
            return (opened, try await ScenarioRunner.report(plan))
        }
        let words =
            ", then open again; look whether \(file) is that server's client-token.key, and name it with --secret-file"
        let refusal = #expect(throws: LoadError.self) { try opened.get() }
        #expect(refusal?.description.hasSuffix(words) == true, "\(opened)")
        #expect(registered.failures.count == 1 && registered.failures.values.first == 2, "\(registered.failures)")
        #expect(registered.failures.keys.first?.hasSuffix(words) == true, "\(registered.failures)")
    }

    @Test("elsewhere is audited by its admin API, sets groups there, and keeps the users of runs apart")
    func audited() async throws {
        let (fanOut, online) = try await withServer(own()) { server in
            var plan = ScenarioRunner.plan(.fanout, .closed(concurrency: 1))
            plan.fanOut = 5
            plan.fanOutKind = .members
            plan.target = .running(running(server))
            let fanOut = try await ScenarioRunner.report(plan)
            plan.fanOutKind = .devices
            _ = try await ScenarioRunner.report(plan)
            // With the same seed: a user with five devices is none for a call to one.
            var online = ScenarioRunner.plan(.online, .closed(concurrency: 6))
            online.target = plan.target
            return (fanOut, try await ScenarioRunner.report(online))
        }
        for report in [fanOut, online] {
            #expect(!report.hasFailed, "\(report.failures) \(report.violations)")
            #expect(report.audit == .balanced && report.ledger?.balanced == true)
            #expect(!report.doubts.contains { $0.contains("audit") }, "\(report.doubts)")
        }
        #expect(try #require(fanOut.timed("invite_answered")).count > 0)
        #expect(try #require(fanOut.timed("invite_answered")).max >= #require(fanOut.timed("last_ring")).min)
    }

    @Test("elsewhere loses the groups that a run has made, keeps those that were there before, and gets none after it")
    func groups() async throws {
        let (left, after, refused, undone) = try await withServer(own()) { server in
            let admin = try LoadAdmin(.folder(server.folder), caFile: nil)
            var plan = ScenarioRunner.plan(.fanout, .closed(concurrency: 3))
            (plan.fanOut, plan.fanOutKind) = (2, .members)
            plan.target = .running(running(server))
            let names = (0..<3).map { Handle("load-fanout-2-members-\(plan.seed)-0-\($0)-group")! }
            try await admin.setGroup(names[1], members: [Handle("alice")!])
            let report = try await ScenarioRunner.report(plan)
            #expect(!report.hasFailed, "\(report.failures) \(report.violations)")
            var left: [Bool] = []
            for name in names { left.append(try await admin.hasGroup(name)) }
            let over = LoadGroups(admin)
            try await over.set(names[0], [Handle("alice")!])
            try await over.removeAll()
            let refused = await Result { try await over.set(names[2], [Handle("alice")!]) }
            let after = (try await admin.hasGroup(names[0]), try await admin.hasGroup(names[2]))
            let lonely = LoadGroups(admin)
            try await lonely.set(names[0], [Handle("alice")!])
            try await lonely.set(names[2], [Handle("alice")!])
            kill(server.process.pid, SIGKILL)
            return (left, after, refused, await Result { try await lonely.removeAll() })
        }
        #expect(left == [false, true, false])
        #expect(after == (false, false))
        #expect(throws: LoadError.self) { try refused.get() }
        let failure = #expect(throws: LoadError.self) { try undone.get() }
        let words = "2 groups of this run could not all be deleted, the first load-fanout-2-members-1-0-0-group"
        #expect(failure?.description.hasPrefix(words) == true, "\(undone)")
    }

    @Test("elsewhere without an admin API is known by its metrics, or not at all, and the report says which")
    func notAudited() async throws {
        let (known, unknown) = try await withServer(own()) { server in
            var target = running(server)
            target.admin = nil
            target.metricsURL = server.metricsURL
            var plan = ScenarioRunner.plan(.online, .closed(concurrency: 1))
            plan.target = .running(target)
            let known = try await ScenarioRunner.report(plan)
            target.metricsURL = "http://127.0.0.1:1/metrics"
            plan.target = .running(target)
            return (known, try await ScenarioRunner.report(plan))
        }
        #expect(!known.hasFailed && known.audit == .ledgerOnly && known.ledger == nil)
        #expect(known.doubts.contains { $0.contains("only the push ledger was audited") })
        #expect(!unknown.hasFailed && unknown.audit == .notRead)
        #expect(unknown.doubts.contains { $0.contains("nothing was audited") })
    }

    @Test("elsewhere that drops candidates by its rate limit is found out, with what to raise")
    func rateLimit() async throws {
        // The last of an option counts.
        let report = try await withServer(own { $0.arguments = ["--messages-per-second", "5"] }) { server in
            var plan = ScenarioRunner.plan(.relay, .closed(concurrency: 8))
            plan.duration = .seconds(300)
            plan.target = .running(running(server))
            // All that are under way are lost by then.
            return try await ScenarioRunner.report(plan) { $0.phase == .measuring && $0.elapsed > .seconds(2) }
        }
        let dropped = report.doubts.first { $0.contains("by its rate limit") }
        #expect(dropped?.contains("limits.messages_per_second") == true, "\(report.doubts)")
        #expect(try #require(report.figure("cut_short")) == 8)
        #expect(report.doubts.contains { $0.contains(": 8 more took longer or never ended") }, "\(report.doubts)")
    }

    @Test("that dies elsewhere is missed after 10 s, and the run ends with a report")
    func dead() async throws {
        let began = ContinuousClock.now
        let report = try await withServer(own()) { server in
            var plan = ScenarioRunner.plan(.online, .closed(concurrency: 2))
            plan.duration = .seconds(300)
            plan.target = .running(running(server))
            return try await LoadTest(plan: plan).run { progress in
                if progress.phase == .measuring, progress.rate ?? 0 > 0 { kill(server.process.pid, SIGKILL) }
            }
        }
        #expect(began.duration(to: .now) < .seconds(50))
        #expect(report.failures.keys.contains { $0.contains("could not be reached for 10") }, "\(report.failures)")
        let unread = "the audit failed: no server answers at the admin socket "
        #expect(report.failures.keys.contains { $0.hasPrefix(unread) && !$0.contains("notRunning") })
        #expect(report.violations.isEmpty && report.audit == .notRead)
        // Its metrics were where they are looked for.
        #expect(!report.doubts.contains { $0.contains("--metrics-url") }, "\(report.doubts)")
        #expect(try #require(report.figure("completed_in_all")) > 0)
        // Of its four phones, whatever became of their calls, and however often they tried to come back.
        #expect(report.figure("sessions_lost") == 4)
        #expect(report.failures.filter { $0.key.hasPrefix("session lost") }.values.reduce(0, +) == 4)
    }

    @Test("has its data where it is told, and a folder in memory makes its times doubtful")
    func data() async throws {
        var plan = ScenarioRunner.plan(.online, .closed(concurrency: 1))
        plan.target = .own(own { $0.dataFolder = "/dev/shm" })
        let report = try await ScenarioRunner.report(plan)
        #expect(!report.hasFailed, "\(report.failures) \(report.violations)")
        #expect(report.fileSystem == "tmpfs")
        #expect(report.doubts.contains { $0.contains("is in memory (tmpfs)") && $0.contains("--data") })
        #expect(report.audit == .balanced)
        let left = try FileManager.default.contentsOfDirectory(atPath: "/dev/shm")
        #expect(!left.contains { $0.hasPrefix("reveille-load-") })
    }

    @Test("keeps the calls that are to stand, and they are no part of the load")
    func standing() async throws {
        var plan = ScenarioRunner.plan(.online, .closed(concurrency: 2))
        plan.standing = 5
        plan.sessions = 3
        let report = try await ScenarioRunner.report(plan)
        #expect(!report.hasFailed, "\(report.failures) \(report.violations)")
        #expect(report.figure("standing_calls") == 5)
        // Two for each place, those besides, and two for each four calls that stand.
        #expect(report.figure("sessions") == 11)
        let completed = try #require(report.figure("completed_in_all"))
        #expect(completed > 0)
        #expect(report.figure("server_calls") == completed + 5)
        #expect(report.figure("under_way_most") ?? 3 <= 2)
        // The calls' memory would be in it.
        #expect(report.figure("server_memory_per_session") == nil)
        #expect(report.figures.allSatisfy { LoadFigure.kind(of: $0.key) != nil })
    }
}

@Suite("What is wrong in the books of a server elsewhere") struct ServerAuditTests {
    private func audit(_ violations: [String]) -> AuditView {
        AuditView(
            balanced: violations.isEmpty, intended: 1, provider: [.accepted: 1], report: [.reported: 1],
            violations: violations, overdue: [])
    }

    @Test("is told when it is new, and what was there before is not")
    func new() {
        let sound = ServerAudit(before: audit([]), after: audit([]))
        #expect(sound.violations.isEmpty && !sound.wasBroken)
        let broken = ServerAudit(before: audit([]), after: audit(["1 call"]))
        #expect(broken.violations == ["1 call"] && !broken.wasBroken)
        let old = ServerAudit(before: audit(["1 call"]), after: audit(["1 call"]))
        #expect(old.violations.isEmpty && old.wasBroken)
    }

    @Test(
        "is the same with another count or first case, and more of it is new",
        arguments: [
            ("3 pushes belong to no call, first a", "3 pushes belong to no call, first b", 0),
            ("3 pushes belong to no call, first a", "2 pushes belong to no call, first b", 0),
            ("3 pushes belong to no call, first a", "4 pushes belong to no call, first a", 1),
            ("3 pushes belong to no call, first a", "3 pushes are sent and have no report status", 1),
            ("-1 pushes in cell 3: a", "-2 pushes in cell 3: a", 1),
            ("-1 pushes in cell 3: a", "-1 pushes in cell 4: a", 1),
            ("intended 9 ≠ sent 5 + queued 3", "intended 109 ≠ sent 100 + queued 8", 0),
            ("intended 9 ≠ sent 5 + queued 3", "intended 109 ≠ sent 100 + queued 7", 1),
        ])
    func growth(before: String, after: String, new: Int) {
        let found = ServerAudit(before: audit([before]), after: audit([after]))
        #expect(found.violations.count == new && found.wasBroken)
        if new == 1, BrokenRule(before).name == BrokenRule(after).name {
            let count = BrokenRule(before).count
            #expect(found.violations == ["\(after) (\(count) before the run)"])
        }
    }

    @Test("that a server of its own cannot be read is told once, and no other way to it is asked for")
    func ownUnread() {
        var plan = ScenarioRunner.plan(.online, .closed(concurrency: 1))
        #expect(ReportBuilder(LoadOutcome(plan)).auditDoubts(nil) == [])
        var running = LoadTarget.RunningServer(url: "ws://x", secretFile: "/x")
        plan.target = .running(running)
        #expect(ReportBuilder(LoadOutcome(plan)).auditDoubts(nil).count == 1)
        running.admin = .folder("/x")
        plan.target = .running(running)
        #expect(ReportBuilder(LoadOutcome(plan)).auditDoubts(nil) == [])
    }

    @Test("that nobody could read them is told in words, and is a failure, not a law that is broken")
    func unread() async throws {
        let admin = try LoadAdmin(.socket("/no/such/admin.sock"), caFile: nil)
        let failure = await #expect(throws: LoadError.self) { _ = try await admin.audit() }
        let error = try #require(failure)
        #expect(
            error.description == """
                no server answers at the admin socket /no/such/admin.sock; see its log, or name the socket \
                or the data folder of a running server with --server or --data
                """)
        let plan = ScenarioRunner.plan(.online, .closed(concurrency: 1))
        let report = ReportBuilder(LoadOutcome(plan)).report(unread: error.description)
        #expect(report.failures == ["the audit failed: \(error)": 1])
        #expect(report.violations.isEmpty && report.audit == .notRead && report.hasFailed)
    }

    @Test("the state of the books follows from who could read them")
    func state() {
        let builder = ReportBuilder(LoadOutcome(ScenarioRunner.plan(.online, .closed(concurrency: 1))))
        #expect(builder.auditState(nil) == .notRead)
        #expect(builder.auditState(ServerAudit(before: audit([]), after: audit([]))) == .balanced)
        #expect(builder.auditState(ServerAudit(before: audit([]), after: audit(["1 call"]))) == .broken)
        #expect(builder.auditDoubts(ServerAudit(before: audit(["x"]), after: audit(["x"]))).count == 1)
        #expect(builder.auditDoubts(ServerAudit(before: audit([]), after: audit([]))).isEmpty)
    }
}

@Suite("The users of a run") struct RunUsersTests {
    /// The first user of a run with the same seed as all others here.
    private func user(_ plan: LoadPlan) async throws -> String {
        let environment = WorkloadEnvironment.alone(plan, try SoftphoneRuntime(), try await .made())
        return environment.user(7).text
    }

    @Test("are not those of a run of another kind, whose devices a store still has")
    func apart() async throws {
        var fanOuts: [LoadPlan] = []
        for (width, kind, asleep) in [
            (100, LoadPlan.FanOutKind.devices, false), (100, .devices, true), (100, .members, false),
            (10, .devices, false),
        ] {
            var plan = ScenarioRunner.plan(.fanout, .closed(concurrency: 1))
            (plan.fanOut, plan.fanOutKind, plan.fanOutAsleep) = (width, kind, asleep)
            fanOuts.append(plan)
        }
        let others = LoadPlan.Scenario.allCases.filter { $0 != .fanout }.map {
            ScenarioRunner.plan($0, .closed(concurrency: 1))
        }
        var users: Set<String> = []
        for plan in fanOuts + others { users.insert(try await user(plan)) }
        #expect(users.count == fanOuts.count + others.count)
        #expect(try await user(fanOuts[0]) == user(fanOuts[0]))
    }

    @Test("have as many devices in a mix as they are asked to, and the server and this machine allow for them")
    func mixed() {
        var plan = ScenarioRunner.plan(.mixed, .closed(concurrency: 20))
        #expect(plan.fanOut == 10 && plan.serverLimits["devices_per_user"] == 16)
        plan.fanOut = 500
        #expect(plan.serverLimits["devices_per_user"] == 500)
        // 14 online, 4 woken, 1 to many, 1 cut.
        #expect(plan.mixedParts.map(\.places) == [14, 4, 1, 1])
        #expect(plan.connections == 2 * 14 + 3 * 4 + 501 + 2)
        plan.weights = [.online: 1]
        #expect(plan.serverLimits["devices_per_user"] == nil)
    }
}

@Suite("The ports of this machine") struct LocalPortsTests {
    @Test("are as many as the kernel's range has")
    func count() {
        #expect(LocalPorts.count(range: "32768\t60999\n") == 28_232)
        #expect(LocalPorts.count(range: "5 5") == 1)
        for text in ["", "7", "9 8", "a b"] { #expect(LocalPorts.count(range: text) == nil, "\(text)") }
        #expect(LocalPorts.count ?? 0 > 0)
    }

    @Test("are no fewer than the connections to one address, or the plan is refused")
    func check() throws {
        var plan = ScenarioRunner.plan(.online, .closed(concurrency: 16))
        plan.sessions = 15_000
        try plan.check(descriptors: 100_000, ports: 28_232)
        plan.standing = 26_400
        try plan.check(descriptors: 100_000, ports: 28_232)
        plan.standing = 26_401
        let error = #expect(throws: LoadError.self) { try plan.check(descriptors: 100_000, ports: 28_232) }
        #expect(error?.description.contains("28234 connections to one address") == true)
        #expect(error?.description.contains("net.ipv4.ip_local_port_range") == true)
    }
}

@Suite("The counters of a run") struct RunCountersTests {
    @Test("miss connected phones only once there were some and are none")
    func none() {
        let (phones, start) = (RunCounters(), ContinuousClock.now)
        #expect(phones.noneConnected(at: start + .seconds(60)) == .zero)
        phones.connected()
        phones.connected()
        phones.disconnected(at: start)
        #expect(phones.noneConnected(at: start + .seconds(60)) == .zero)
        phones.disconnected(at: start + .seconds(1))
        #expect(phones.noneConnected(at: start + .seconds(61)) == .seconds(60))
        phones.connected()
        #expect(phones.noneConnected(at: start + .seconds(62)) == .zero)
    }
}
