/// A load test: puts the load of a plan on a server, and says what came of it.
public struct LoadTest: Sendable {
    public let plan: LoadPlan

    public init(plan: LoadPlan) { self.plan = plan }

    /// Runs the whole test. What it starts is stopped and removed when this returns, however it returns.
    ///
    /// When the task is cancelled, nothing more is begun, what is under way gets a few seconds, and the report is of
    /// what was done so far.
    /// - Parameter progress: told some times a second at most, on no particular thread.
    /// - Throws: ``LoadError`` where nothing can be said of the server at all.
    public func run(progress: @escaping @Sendable (LoadProgress) -> Void) async throws -> LoadReport {
        let stop = StopRequest()
        let run = LoadRun(plan: plan, stop: stop, progress: progress)
        return try await withTaskCancellationHandler {
            // A task of its own: a cancelled one could not wait for anything any more.
            try await Task { try await run.run() }.value
        } onCancel: {
            stop.request()
        }
    }

    /// Ends by force what the tests of this process have started, and removes what they have made: for whoever is about
    /// to end the process and does not want to wait for ``run(progress:)``. Any thread.
    public static func abandon() { Remains.all.remove() }
}
