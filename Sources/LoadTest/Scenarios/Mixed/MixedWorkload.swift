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
        let chosen = plan.mixedParts
        guard !chosen.isEmpty, chosen.allSatisfy({ $0.scenario?.canBeMixed != false }) else {
            throw LoadError(
                "mixed is made of online, wake, fanout, relay and churn: give at least one of them a weight")
        }
        weight = chosen.reduce(0) { $0 + $1.weight }
        parts = try chosen.enumerated().map { number, part in
            let own = Self.environment(of: part, number: number, environment)
            let workload = try part.scenario.map { try Workloads.make($0, own) } ?? DisturbedWorkload(own)
            return Part(name: part.name, weight: part.weight, recorder: own.recorder, workload: workload)
        }
        let all = Set(parts.flatMap(\.workload.stages))
        stages = LoadStage.allCases.filter { all.contains($0) }
    }

    /// What one part is made with: its share of the places, and users that no other part has.
    private static func environment(
        of part: LoadPlan.Part, number: Int, _ whole: WorkloadEnvironment
    ) -> WorkloadEnvironment {
        var environment = whole
        environment.plan.scenario = part.scenario ?? .mixed
        environment.plan.pace = .closed(concurrency: part.places)
        environment.plan.places = part.places
        if number > 0 { environment.plan.sessions = 0 }
        environment.recorder = Recorder(part: part.name, of: whole.recorder)
        environment.firstUser = number * usersApart
        return environment
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
        // In a closed loop there is always something to do for somebody; in an open one this operation was due.
        guard case .closed = environment.plan.pace else { return false }
        return parts.indices.contains { $0 != first && parts[$0].workload.begin(due: due) }
    }

    var underWay: Int { parts.reduce(0) { $0 + $1.workload.underWay } }

    var figures: [Figure] {
        parts.map { LoadFigure.Work.completedScenario.figure(Double($0.recorder.completions), of: $0.name) }
            + parts.flatMap(\.workload.figures).summed
    }

    func endHeld() { for part in parts { part.workload.endHeld() } }

    func close() { for part in parts { part.workload.close() } }
}

@available(*, unavailable)
extension MixedWorkload: Sendable {}
