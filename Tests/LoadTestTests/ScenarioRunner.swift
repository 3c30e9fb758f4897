import Foundation
import SoftphoneKit
import Synchronization

@testable import LoadTest

/// Runs plans against a real server process.
enum ScenarioRunner {
    /// The executable of this package, built next to the tests' own.
    static let reveille = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("reveille").path

    static func plan(_ scenario: LoadPlan.Scenario, _ pace: LoadPlan.Pace) -> LoadPlan {
        var plan = LoadPlan(scenario, pace: pace, target: .own(LoadTarget.OwnServer(executable: reveille)))
        // So long that something is completed where the host gives the machine little of its processors.
        plan.duration = .milliseconds(1500)
        plan.warmUp = .milliseconds(100)
        return plan
    }

    /// With a server whose process has the argument `mark`.
    static func plan(_ scenario: LoadPlan.Scenario, _ pace: LoadPlan.Pace, mark: String) -> LoadPlan {
        var plan = plan(scenario, pace)
        var own = LoadTarget.OwnServer(executable: reveille)
        own.arguments = ["--node", mark]
        plan.target = .own(own)
        return plan
    }

    /// Runs the plan again, at most nine times, while the server of a busy machine refuses calls as overloaded.
    static func report(_ plan: LoadPlan) async throws -> LoadReport {
        var report = try await LoadTest(plan: plan).run { _ in }
        for _ in 0..<9 where report.failures.keys.contains(where: { $0.hasSuffix("refused as overloaded") }) {
            report = try await LoadTest(plan: plan).run { _ in }
        }
        return report
    }

    /// Cancels the run once `isTime`.
    static func report(
        _ plan: LoadPlan, cancelledWhen isTime: @escaping @Sendable (LoadProgress) -> Bool
    ) async throws -> LoadReport {
        let run = Mutex<Task<LoadReport, any Error>?>(nil)
        let task = Task {
            try await LoadTest(plan: plan).run { progress in
                if isTime(progress) { run.withLock { $0?.cancel() } }
            }
        }
        run.withLock { $0 = task }
        return try await task.value
    }
}

extension LoadTokens {
    /// Of a secret that no server has.
    static func made() async throws -> LoadTokens {
        let file = NSTemporaryDirectory() + "load-secret-\(UUID().uuidString)"
        try String(repeating: "0123456789abcdef", count: 4).write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        return try await LoadTokens(secretFile: file)
    }
}

extension WorkloadEnvironment {
    /// Of the only thread of a run, whose server nobody connects to.
    static func alone(
        _ plan: LoadPlan, _ runtime: SoftphoneRuntime, _ tokens: LoadTokens, _ recorder: Recorder = Recorder(),
        counters: RunCounters = RunCounters()
    ) -> WorkloadEnvironment {
        WorkloadEnvironment(
            plan: plan, runtime: runtime, thread: 0, threads: 1, recorder: recorder, tokens: tokens, url: "ws://x",
            simulatorFolder: nil, counters: counters)
    }
}

extension LoadReport {
    func figure(_ key: String) -> Double? { figures.first { $0.key == key }?.value }
    func timed(_ key: String) -> StageReport? { stages.first { $0.key == key } }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
