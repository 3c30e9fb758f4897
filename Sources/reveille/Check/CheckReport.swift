import AdminProtocol
import CallVocabulary

/// A server's figures, judged.
struct CheckReport: Encodable {
    struct Figure: Encodable {
        let name: String
        /// `s`, `%` or nothing.
        let unit: String
        let value: Double
        let warning: Double?
        let critical: Double?
        let status: CheckStatus
        /// What it is when it is too much.
        let words: String
    }

    let status: CheckStatus
    /// What is said of it in one line.
    let summary: String
    /// Empty when the server could not be asked.
    let figures: [Figure]
    /// Why the server is not ready.
    let problems: [String]

    init(_ stats: StatsView, _ limits: CheckOptions) {
        var figures: [Figure] = []
        func judge(_ name: String, _ unit: String, _ value: Double, _ limit: Threshold, _ words: String) {
            figures.append(
                Figure(
                    name: name, unit: unit, value: value, warning: limit.warning, critical: limit.critical,
                    status: limit.status(of: value), words: words))
        }
        // Readiness names a drain among its problems; it is a figure of its own.
        let problems = stats.problems.filter { !$0.hasPrefix("draining:") }
        let pools = stats.pushPools
        let oldest = Double(pools.map(\.oldestQueuedMilliseconds).max() ?? 0) / 1000
        let unreported = Self.unreportedPercent(stats.pushes.report)
        let circuits = pools.count(where: \.isCircuitOpen)
        let files =
            stats.process.maxFiles > 0 ? 100 * Double(stats.process.openFiles) / Double(stats.process.maxFiles) : 0
        let ring = stats.stages.first { $0.stage == .inviteToRinging && $0.count > 0 }?.p99Milliseconds ?? 0
        judge("oldest_push", "s", oldest, limits.oldestPush, "a push has waited for \(Threshold.text(oldest)) s")
        judge(
            "unreported", "%", unreported, limits.unreported,
            "\(Threshold.text(unreported)) % of the pushes were never reported")
        judge(
            "store_waiting", "", Double(stats.store.waiting), limits.storeWaiting,
            "\(stats.store.waiting) batches wait for the store")
        judge(
            "open_circuits", "", Double(circuits), limits.openCircuits,
            "\(PartyText.count(circuits, "open circuit breaker")) of push credentials")
        judge(
            "violations", "", Double(stats.pushes.violations.count), limits.violations,
            stats.pushes.violations.joined(separator: "; "))
        judge(
            "files", "%", files, limits.files, "\(stats.process.openFiles) of \(stats.process.maxFiles) files are open")
        judge("ring_p99", "s", ring / 1000, limits.ringP99, "calls take \(Threshold.text(ring / 1000)) s to ring (p99)")
        judge("problems", "", Double(problems.count), limits.problems, problems.joined(separator: "; "))
        judge("draining", "", stats.server.isDraining ? 1 : 0, limits.draining, "the server drains")

        self.figures = figures
        self.problems = problems
        status = figures.map(\.status).max() ?? .ok
        let bad = figures.filter { $0.status != .ok }.sorted { $0.status > $1.status }
        let live = stats.calls.live.values.reduce(0, +)
        summary =
            bad.isEmpty
            ? "\(PartyText.count(live, "live call")), \(PartyText.count(stats.sessions.online, "session"))"
            : bad.map(\.words).joined(separator: "; ")
    }

    /// The server could not be asked: a silent one is critical, one that refuses is not judged.
    init(_ problem: AdminProblem) {
        status = problem.kind == .unreachable ? .critical : .unknown
        summary = problem.words
        figures = []
        problems = []
    }

    private static func unreportedPercent(_ counts: [ReportStatus: Int]) -> Double {
        let told = counts.filter { $0.key != .awaited }.values.reduce(0, +)
        guard told >= CheckOptions.fewestReports else { return 0 }
        return 100 * Double(counts[.unreported, default: 0]) / Double(told)
    }
}
