import Testing

@testable import LoadTest

/// Scenarios side by side, against real processes of the server and of the push simulator, one after the other.
@Suite(.serialized) struct MixedTests {
    private func plan(_ weights: [LoadPlan.Scenario: Int]) -> LoadPlan {
        var plan = ScenarioRunner.plan(.mixed, .closed(concurrency: 6))
        plan.weights = weights
        plan.fanOut = 4
        plan.hasDescriptions = true
        return plan
    }

    @Test("each scenario gets its share, and a phone serves one of them only", .timeLimit(.minutes(5)))
    func shares() async throws {
        let report = try await ScenarioRunner.report(plan([.online: 2, .wake: 2, .fanout: 1]))
        #expect(report.failures.isEmpty && report.violations.isEmpty, "\(report.failures) \(report.violations)")
        for part in ["online", "wake", "fanout"] {
            #expect(report.figure("completed_\(part)") ?? 0 > 0, "\(part)")
        }
        #expect(report.figure("completed_disturbed") == nil)
        #expect(report.stages.first?.key == "invite_result")
        #expect(report.figure("provider_received") == report.figure("pushes_received"))
        #expect(report.figure("server_descriptors_max") ?? 0 > 6)
    }

    @Test("with faults, each kind comes to an end it allows, and nothing else suffers", .timeLimit(.minutes(5)))
    func faults() async throws {
        var plan = plan([.online: 1, .wake: 1])
        plan.faults = true
        plan.seed = 7
        plan.pace = .closed(concurrency: 12)
        // On a busy machine a call takes seconds, and every kind has to come.
        plan.duration = .seconds(15)
        let report = try await ScenarioRunner.report(plan)
        #expect(report.failures.isEmpty && report.violations.isEmpty, "\(report.failures) \(report.violations)")
        for fault in CallFault.allCases {
            #expect(report.figure("fault_\(fault.rawValue)") ?? 0 > 0, "\(fault)")
        }
        let lost = try #require(report.figure("fault_push_lost"))
        let delivered = try #require(report.figure("provider_delivered"))
        #expect(report.figure("provider_accepted") == delivered + lost, "what is lost is accepted and not delivered")
        #expect(report.figure("provider_reported") == delivered)
        #expect(report.figure("provider_refused") == report.figure("fault_push_refused"))
        let disturbed = CallFault.allCases.reduce(0) { $0 + (report.figure("fault_\($1.rawValue)") ?? 0) }
        #expect(report.figure("completed_disturbed") == disturbed)
    }

    private static let nonsense: [[LoadPlan.Scenario: Int]] = [[:], [.mixed: 1], [.register: 1]]

    @Test("weights that make no mix are refused", .timeLimit(.minutes(5)), arguments: nonsense)
    func refused(_ weights: [LoadPlan.Scenario: Int]) async throws {
        await #expect(throws: LoadError.self) { try await ScenarioRunner.report(plan(weights)) }
    }
}

@Suite("A part of a mixed load") struct PartRecorderTests {
    @Test("is recorded as a whole, its failures by its name and its completions beside")
    func parts() {
        let whole = Recorder()
        var over: [Bool] = []
        whole.onOperationOver = { over.append($0) }
        let part = Recorder(part: "wake", of: whole)
        part.completed()
        part.failed("nobody came")
        part.fault("lost", count: 2)
        #expect(over == [true, false])
        #expect(whole.result.completedInAll == 1)
        #expect(whole.result.failures == ["wake: nobody came": 1, "wake: lost": 2])
        #expect(part.completions == 1 && part.result.completedInAll == 0 && part.result.failures.isEmpty)
        #expect(!part.counts(.now))
    }
}

@Suite("What a server's process held") struct ServerSamplesTests {
    private func samples(_ values: [(resident: Int, descriptors: Int)]) -> [String: Double] {
        var samples = ServerSamples()
        for value in values {
            samples.add(ProcessUsage(residentBytes: value.resident, cpu: .zero, descriptors: value.descriptors))
        }
        return Dictionary(uniqueKeysWithValues: samples.figures.map { ($0.key, $0.value) })
    }

    @Test("its growth is that of the last third against the middle one")
    func growth() {
        let sixths = [(900, 1), (10, 5), (100, 9), (300, 7), (210, 6), (210, 2)]
        let figures = samples(sixths.flatMap { Array(repeating: $0, count: 50) })
        #expect(figures["server_memory_growth"] == 210.0 / 200 - 1)
        #expect(figures["server_descriptors_start"] == 1)
        #expect(figures["server_descriptors_max"] == 9)
        #expect(figures["server_descriptors_end"] == 2)
    }

    @Test("less than five minutes give no growth, and none give nothing")
    func few() {
        func growth(_ seconds: Int) -> Double? { samples((1...seconds).map { ($0, 1) })["server_memory_growth"] }
        #expect(growth(2) == nil && growth(299) == nil)
        #expect(growth(300).map { $0 > 0.6 } == true)
        #expect(samples([]).isEmpty)
    }
}
