import Foundation
import Synchronization

@testable import LoadTest

/// Runs plans against a real server process.
enum ScenarioRunner {
    /// The executable of this package, built next to the tests' own.
    static let reveille = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("reveille").path

    static func plan(_ scenario: LoadPlan.Scenario, _ pace: LoadPlan.Pace) -> LoadPlan {
        var plan = LoadPlan(scenario, pace: pace, target: .own(LoadTarget.OwnServer(executable: reveille)))
        plan.duration = .milliseconds(500)
        plan.warmUp = .milliseconds(100)
        return plan
    }

    static func report(_ plan: LoadPlan) async throws -> LoadReport {
        try await LoadTest(plan: plan).run { _ in }
    }
}

extension LoadReport {
    func figure(_ key: String) -> Double? { figures.first { $0.key == key }?.value }
    func timed(_ key: String) -> StageReport? { stages.first { $0.key == key } }
}
