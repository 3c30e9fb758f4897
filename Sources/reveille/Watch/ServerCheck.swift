import AdminProtocol

/// Checks that the server answers, before the full screen is entered.
enum ServerCheck {
    /// - Throws: ``AdminProblem`` with exit code 2, also where the server refuses: there is nothing to watch then.
    static func check(_ server: ServerOptions) async throws {
        do {
            _ = try await Administration.ask(GetServerInfo(), of: server)
        } catch let problem as AdminProblem {
            throw AdminProblem(.unreachable, problem.words)
        }
    }
}
