import AdminProtocol
import CallMonitor

/// The list of problems as metrics.
enum ProblemMetrics {
    /// - Parameter standsBy: whether the server is not ready because another one serves.
    static func add(_ problems: [ServerProblem], standsBy: Bool = false, to report: inout PrometheusText) {
        report.metric(
            "reveille_ready", .gauge, "1 while /readyz says so.", !standsBy && ServerFacts.isReady(problems) ? 1 : 0)
        report.metric(
            "reveille_problems", .gauge, "Problems of the server, by kind.",
            ServerProblem.Code.allCases.map { code in
                ("problem=\"\(code.rawValue)\"", Double(problems.count { $0.code == code }))
            })
    }
}
