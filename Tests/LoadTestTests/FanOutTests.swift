import EventLoop
import Foundation
import SoftphoneKit
import SoftphoneSession
import Testing

@testable import LoadTest

/// Calls to many devices, against real processes of the server and of the push simulator, one after the other.
@Suite(.serialized) struct FanOutTests {
    private func plan(_ kind: LoadPlan.FanOutKind, _ devices: Int, asleep: Bool = false) -> LoadPlan {
        var plan = ScenarioRunner.plan(.fanout, .closed(concurrency: 1))
        plan.fanOut = devices
        plan.fanOutKind = kind
        plan.fanOutAsleep = asleep
        plan.hasDescriptions = true
        // All counts, from the first call on.
        plan.warmUp = .zero
        return plan
    }

    /// What must hold of each report without failures: each call rang everywhere and each other device was told once.
    private func check(_ report: LoadReport, devices: Int) throws {
        #expect(report.failures.isEmpty && report.violations.isEmpty, "\(report.failures) \(report.violations)")
        let calls = try #require(report.timed("last_ring")).count
        #expect(calls > 0)
        #expect(report.figure("completed_in_all") == Double(calls))
        for key in ["invite_result", "first_ring", "invite_ringing"] {
            #expect(report.timed(key)?.count == calls, "\(key)")
        }
        // Those of the last call may begin when the measured part is over.
        for key in ["answer_answered", "answer_connected", "others_told", "hangup_ended"] {
            #expect(calls - (report.timed(key)?.count ?? 0) <= 1, "\(key)")
        }
        let told = report.timed("others_told")?.count ?? 0
        #expect((report.timed("answer_told")?.count ?? 0) == told * (devices - 1))
        let legs = try #require(report.figure("legs"))
        let completed = try #require(report.figure("completed"))
        #expect(legs == completed * Double(devices))
        #expect(try #require(report.timed("first_ring")).max <= #require(report.timed("last_ring")).max)
    }

    @Test("all devices of a user ring, one answers, and each other is told once", .timeLimit(.minutes(5)))
    func devices() async throws {
        // More than a server allows one user, unless it is told.
        let report = try await ScenarioRunner.report(plan(.devices, 20))
        try check(report, devices: 20)
        let (told, ring) = (try #require(report.timed("last_told")), try #require(report.timed("last_ring")))
        #expect(told.count == ring.count && told.max <= ring.max)
        // In the order in which a call comes to them.
        #expect(
            report.stages.map(\.key) == [
                "invite_result", "first_ring", "last_told", "last_ring", "invite_ringing", "invite_answered",
                "answer_answered", "answer_connected", "answer_told", "others_told", "hangup_ended",
            ])
    }

    @Test("all members of a group ring, one answers, and each other is told once", .timeLimit(.minutes(5)))
    func members() async throws {
        try check(try await ScenarioRunner.report(plan(.members, 12)), devices: 12)
    }

    @Test("each group that is set is a step of the opening", .timeLimit(.minutes(5)))
    func groups() async throws {
        let counters = RunCounters()
        let folder = try RunFolder()
        defer { folder.remove() }
        let server = try await ServerProcess.start(
            LoadTarget.OwnServer(executable: ScenarioRunner.reveille), folder: folder.path)
        var plan = plan(.members, 2)
        plan.pace = .closed(concurrency: 3)
        let tokens = try await LoadTokens(secretFile: server.folder + "/client-token.key")
        let groups = LoadGroups(try LoadAdmin(.folder(server.folder), caFile: nil))
        let runtime = try SoftphoneRuntime()
        try await runtime.loop.result { [plan] done in
            let work = CallWorkload(
                WorkloadEnvironment(
                    plan: plan, runtime: runtime, thread: 0, threads: 1, recorder: Recorder(), tokens: tokens,
                    url: server.url, simulatorFolder: nil, counters: counters, groups: groups))
            work.prepare { result in
                work.close()
                done(result)
            }
        }
        // Three callers, six members, three groups.
        #expect(counters.settled == 12 && counters.expected == 12)
        #expect(await server.process.stop() == nil)
    }

    @Test("fifty devices that sleep are all woken, and told that another has answered", .timeLimit(.minutes(5)))
    func asleep() async throws {
        let report = try await ScenarioRunner.report(plan(.devices, 50, asleep: true))
        try check(report, devices: 50)
        let calls = try #require(report.timed("last_ring")).count
        #expect(report.timed("last_push_accepted")?.count == calls)
        #expect(report.timed("last_online")?.count == calls)
        let pushes = try #require(report.figure("provider_received"))
        #expect(pushes == Double(calls * 50))
        #expect(report.figure("provider_reported") == pushes)
        #expect(try #require(report.timed("last_push_accepted")).max <= #require(report.timed("last_online")).max)
    }

    @Test("all members of a group that sleep are woken, each by a push of its own", .timeLimit(.minutes(5)))
    func membersAsleep() async throws {
        let report = try await ScenarioRunner.report(plan(.members, 12, asleep: true))
        try check(report, devices: 12)
        let calls = try #require(report.timed("last_ring")).count
        #expect(report.figure("provider_received") == Double(calls * 12))
    }

    @Test("a server that allows a user too few devices is told apart, with what to raise", .timeLimit(.minutes(5)))
    func limited() async throws {
        var plan = plan(.devices, 20)
        guard case .own(var own) = plan.target else { return }
        // A file of settings among the arguments takes the place of the load's.
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).yaml").path
        try "limits:\n  devices_per_user: 16\n".write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        own.arguments = ["--config", file]
        plan.target = .own(own)
        await #expect {
            _ = try await ScenarioRunner.report(plan)
        } throws: { error in
            "\(error)".contains("has 16 devices") && "\(error)".contains("limits.devices_per_user has to be 20 or more")
        }
    }

    @Test("no call reaches more devices than a group may have members")
    func tooMany() throws {
        #expect(throws: LoadError.self) { try plan(.members, 1001).check() }
        #expect(throws: LoadError.self) { try plan(.devices, 0).check() }
        try plan(.members, 1000).check()
    }
}
