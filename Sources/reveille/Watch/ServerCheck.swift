import AdminProtocol

/// Checks that the server answers, before the full screen is entered.
enum ServerCheck {
    /// - Throws: ``AdminProblem`` with exit code 2, also where the server refuses: there is nothing to watch then.
    static func check(_ server: ServerOptions) async throws {
        // A server that hangs takes as long as a request may.
        let waiting = Task {
            try await Task.sleep(for: .seconds(1))
            Terminal.complain("waiting for the server…")
        }
        defer { waiting.cancel() }
        do {
            _ = try await Administration.ask(GetServerInfo(), of: server)
        } catch let problem as AdminProblem {
            throw AdminProblem(.unreachable, problem.words)
        }
    }
}
