import CallVocabulary

/// The push client against h2load, on the same work and the same server.
public struct PushBenchmark: Sendable {
    public var work: PushWork.Size
    /// Each contender runs once a round, one after the other.
    public var rounds: Int

    public init(pushes: Int, rounds: Int) {
        work = PushWork.Size(pushes: pushes)
        self.rounds = rounds
    }

    /// Starts nghttpd, and ends it whatever happens.
    /// - Parameter progress: told after each run who it was and how it went.
    /// - Throws: ``BenchmarkError`` and the errors of what it is made of: no result.
    public func run(progress: (_ contender: String, Sample) -> Void) async throws -> PushComparison {
        precondition(rounds > 0 && work.pushes > 0, "at least one round of one push")
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
