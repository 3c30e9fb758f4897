extension Terminal {
    /// Runs a command: prints its error, and turns it into the exit code.
    static func reporting(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let problem as AdminProblem {
            complain("reveille: \(problem.words)")
            throw problem.exit
        } catch {
            throw unavailable(error)
        }
    }
}
