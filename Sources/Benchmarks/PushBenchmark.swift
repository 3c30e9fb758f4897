import CallVocabulary

/// Compares the push client with h2load, with the same work and the same server.
public struct PushBenchmark: Sendable {
    public var work: PushWork.Size
    /// The rounds, each of which runs every contender once.
    public var rounds: Int

    public init(pushes: Int, rounds: Int) {
        work = PushWork.Size(pushes: pushes)
        self.rounds = rounds
    }

    /// Starts nghttpd, and stops it in any case.
    /// - Parameter progress: called after each run with the contender and its result.
    /// - Throws: ``BenchmarkError``, `SystemError` and the errors of child processes.
    public func run(progress: (_ contender: String, Sample) -> Void) async throws -> PushComparison {
        precondition(rounds > 0 && work.pushes > 0, "a benchmark needs at least one round and one push")
        let pushes = try PushWork(size: work, now: .now())
        let target = try await PushTarget.start(pushes)
        do {
            let comparison = try await compare(target, pushes, progress)
            await target.stop()
            return comparison
        } catch {
            await target.stop()
            throw error
        }
    }

    private func compare(
        _ target: PushTarget, _ pushes: PushWork, _ progress: (_ contender: String, Sample) -> Void
    ) async throws -> PushComparison {
        let h2load = try await H2Load(target: target, work: pushes)
        var samples = PushComparison.Samples()
        func note(_ contender: PushComparison.Name, _ sample: Sample) {
            samples[contender, default: []].append(sample)
            progress(contender.rawValue, sample)
        }
        for _ in 0..<rounds {
            note(.h2load, try await h2load.run())
            note(.pushClient, try await PushPoolRun.run(target: target, work: pushes))
            note(.connections, try await ConnectionsRun.run(target: target, work: pushes))
        }
        return PushComparison(work: work, samples: samples)
    }
}
