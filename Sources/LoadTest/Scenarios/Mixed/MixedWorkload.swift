import Determinism

/// Several scenarios side by side at one server, each with users of its own. What is due goes to one of them, drawn by
/// its weight. With faults, a part of the calls is disturbed on purpose.
final class MixedWorkload: Workload {
    private struct Part {
        let name: String
        let weight: Int
        let recorder: Recorder
        let workload: any Workload
    }

    /// Of ten pieces one is disturbed, where faults are asked for.
    private static let disturbedShare = 10
    private static let disturbed = "disturbed"
    /// What the numbers of each part's users are apart.
    private static let usersApart = 1_000_000

    let stages: [LoadStage]

    private let environment: WorkloadEnvironment
    private let parts: [Part]
    private let weight: Int
    private var choices: SeededGenerator

    /// - Throws: ``LoadError`` for weights that make no sense.
    init(_ environment: WorkloadEnvironment) throws {
        self.environment = environment
        choices = environment.generator(.parts)
        let plan = environment.plan
        let chosen = LoadPlan.Scenario.allCases.filter { plan.weights[$0, default: 0] > 0 }
        guard !chosen.isEmpty, chosen.allSatisfy(\.canBeMixed) else {
            throw LoadError(
                "mixed is made of online, wake, fanout, relay and churn: give at least one of them a weight")
        }
        let sum = chosen.reduce(0) { $0 + plan.weights[$1, default: 0] }
        let faultWeight = plan.faults ? max(1, sum / Self.disturbedShare) : 0
        weight = sum + faultWeight
        var parts: [Part] = []
        for scenario in chosen {
            let (recorder, part) = Self.environment(
                of: scenario, name: scenario.rawValue, weight: plan.weights[scenario, default: 0], in: weight,
                number: parts.count, environment)
            parts.append(
                Part(
                    name: scenario.rawValue, weight: plan.weights[scenario, default: 0], recorder: recorder,
                    workload: try Workloads.make(scenario, part)))
        }
        if faultWeight > 0 {
            let (recorder, part) = Self.environment(
                of: .mixed, name: Self.disturbed, weight: faultWeight, in: weight, number: parts.count, environment)
            parts.append(
                Part(
                    name: Self.disturbed, weight: faultWeight, recorder: recorder,
                    workload: DisturbedWorkload(part)))
        }
        self.parts = parts
        let all = Set(parts.flatMap(\.workload.stages))
        stages = LoadStage.allCases.filter { all.contains($0) }
    }

    /// What one part is made with: its share of the places, and users that no other part has.
    private static func environment(
        of scenario: LoadPlan.Scenario, name: String, weight: Int, in sum: Int, number: Int,
        _ whole: WorkloadEnvironment
    ) -> (Recorder, WorkloadEnvironment) {
        var plan = whole.plan
        let places = (whole.plan.places * weight + sum - 1) / sum
        plan.scenario = scenario
        plan.pace = .closed(concurrency: max(plan.threads, places))
        plan.fanOut = min(plan.fanOut, LoadPlan.mixedFanOut)
        if number > 0 { plan.sessions = 0 }
        let recorder = Recorder(part: name, of: whole.recorder)
        return (
            recorder,
            WorkloadEnvironment(
                plan: plan, runtime: whole.runtime, thread: whole.thread, threads: whole.threads, recorder: recorder,
                tokens: whole.tokens, url: whole.url, simulatorFolder: whole.simulatorFolder, opening: whole.opening,
                admin: whole.admin, firstUser: number * usersApart)
        )
    }

    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) { prepare(0, completion) }

    private func prepare(_ index: Int, _ completion: @escaping (Result<Void, any Error>) -> Void) {
        guard index < parts.count else { return completion(.success(())) }
        parts[index].workload.prepare { [unowned self] result in
            guard case .success = result else { return completion(result) }
            prepare(index + 1, completion)
        }
    }

    func begin(due: ContinuousClock.Instant) -> Bool {
        var drawn = Int.random(in: 0..<weight, using: &choices)
        let first =
            parts.firstIndex { part in
                drawn -= part.weight
                return drawn < 0
            } ?? 0
        if parts[first].workload.begin(due: due) { return true }
        // In a closed loop there is always something to do for somebody; in an open one this piece was due.
        guard case .closed = environment.plan.pace else { return false }
        return parts.indices.contains { $0 != first && parts[$0].workload.begin(due: due) }
    }

    var underWay: Int { parts.reduce(0) { $0 + $1.workload.underWay } }

    var figures: [Figure] {
        var figures = parts.map { part in
            Figure(
                "completed_\(part.name)", .work, Double(part.recorder.completions), .count,
                "pieces of \(part.name) completed, at any time of the run")
        }
        for figure in parts.flatMap(\.workload.figures) {
            guard let index = figures.firstIndex(where: { $0.key == figure.key }) else {
                figures.append(figure)
                continue
            }
            figures[index] = Figure(
                figure.key, figure.group, figures[index].value + figure.value, figure.unit, figure.definition)
        }
        return figures
    }

    func close() { for part in parts { part.workload.close() } }
}

@available(*, unavailable)
extension MixedWorkload: Sendable {}
