import PushSimulator

extension Terminal {
    /// Runs a command. The one place where an error becomes a message and an exit code.
    static func reporting(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let problem as AdminProblem {
            complain("reveille: \(problem.words)")
            throw problem.exit
        } catch let failure as PushSimulatorAdmin.Failure {
            complain("reveille: \(failure)")
            if case .refused = failure { throw Exit.failed }
            throw Exit.unavailable
        } catch {
            throw unavailable(error)
        }
    }
}
