import Testing

@testable import LoadTest

/// Calls to phones that sleep, against real processes of the server and of the push simulator, one after the other.
@Suite(.serialized) struct WakeTests {
    @Test("each call wakes its phone by one push, which is reported, and passes all stages", .timeLimit(.minutes(5)))
    func wakes() async throws {
        var plan = ScenarioRunner.plan(.wake, .closed(concurrency: 3))
        plan.hold = .milliseconds(20)
        plan.duration = .seconds(2)
        // All counts, from the first call on.
        plan.warmUp = .zero
        let report = try await ScenarioRunner.report(plan)
        #expect(report.failures.isEmpty, "\(report.failures)")
        #expect(report.violations.isEmpty, "\(report.violations)")
        #expect(
            report.stages.map(\.key) == [
                "invite_result", "invite_push_accepted", "invite_push", "push_reported", "invite_incoming",
                "invite_ringing", "answer_answered", "answer_connected", "hangup_ended",
            ])
        let calls = try #require(report.figure("completed_in_all"))
        #expect(calls >= 3)
        for stage in report.stages {
            // Those that count from an answer may begin when the measured part is over.
            let late = stage.key.hasPrefix("invite") ? 0.0 : 3.0
            #expect(
                calls - late...calls ~= Double(stage.count), "each call once: \(stage.key) \(stage.count) of \(calls)")
        }
        let pushes = try #require(report.figure("pushes_received"))
        #expect(pushes == calls)
        #expect(report.figure("pushes_reported") == pushes)
        #expect(report.figure("pushes_repeated") == 0)
        #expect(try #require(report.figure("pushes_written_in_10ms")) <= 1)
        for key in ["received", "accepted", "delivered", "reported"] {
            #expect(report.figure("provider_\(key)") == pushes, "\(key)")
        }
        #expect(report.figure("provider_kills") == 0)
    }

    @Test("what happens on the way happens in its order", .timeLimit(.minutes(5)))
    func order() async throws {
        var plan = ScenarioRunner.plan(.wake, .closed(concurrency: 1))
        plan.warmUp = .zero
        let report = try await ScenarioRunner.report(plan)
        #expect(report.failures.isEmpty && report.violations.isEmpty, "\(report.failures) \(report.violations)")
        // One call at a time: the smallest of each stage is no later than that of what follows from it.
        let steps = ["invite_push_accepted", "invite_push", "invite_incoming"].map { report.timed($0)?.min ?? 0 }
        #expect(steps == steps.sorted() && steps[0] > 0, "\(steps)")
        #expect(try #require(report.timed("push_reported")).min > 0)
    }

    @Test(
        "calls that are declined or given up wake their phones too, and all ends are as meant", .timeLimit(.minutes(5)))
    func unanswered() async throws {
        var plan = ScenarioRunner.plan(.wake, .closed(concurrency: 3))
        plan.answerRatio = 0.3
        plan.hasDescriptions = true
        plan.warmUp = .zero
        let report = try await ScenarioRunner.report(plan)
        #expect(report.failures.isEmpty && report.violations.isEmpty, "\(report.failures) \(report.violations)")
        let calls = try #require(report.timed("invite_result")).count
        let answered = try #require(report.timed("answer_answered")).count
        #expect(answered > 0 && answered < calls, "\(answered) of \(calls)")
        #expect(report.figure("pushes_received") == report.figure("provider_reported"))
    }

    @Test("in an open loop each call that is due is begun, and wakes its phone", .timeLimit(.minutes(5)))
    func open() async throws {
        var plan = ScenarioRunner.plan(.wake, .open(rate: 40))
        plan.warmUp = .zero
        let report = try await ScenarioRunner.report(plan)
        #expect(report.failures.isEmpty && report.violations.isEmpty, "\(report.failures) \(report.violations)")
        let begun = try #require(report.figure("begun"))
        #expect(begun > 3 && report.figure("not_begun") == 0)
        #expect(report.figure("pushes_reported") == begun)
    }
}
