import AdminProtocol
import CallVocabulary

/// A server's problems, and its figures judged by the operator's limits.
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
    /// The server's own list, without those that are ignored.
    let problems: [ServerProblem]

    init(_ stats: StatsView, _ limits: CheckOptions) {
        var figures: [Figure] = []
        func judge(_ name: String, _ unit: String, _ value: Double, _ limit: Threshold, _ words: String) {
            figures.append(
                Figure(
                    name: name, unit: unit, value: value, warning: limit.warning, critical: limit.critical,
                    status: limit.status(of: value), words: words))
        }
        let problems = stats.problems.filter { !limits.ignore.contains($0.code) }
        let pools = stats.pushPools
        let oldest = Double(pools.map(\.oldestQueuedMilliseconds).max() ?? 0) / 1000
        let unreported = Self.unreportedPercent(stats.pushes.report)
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
            "files", "%", files, limits.files, "\(stats.process.openFiles) of \(stats.process.maxFiles) files are open")
        judge("ring_p99", "s", ring / 1000, limits.ringP99, "calls take \(Threshold.text(ring / 1000)) s to ring (p99)")
        self.figures = figures + Self.counts(problems)
        self.problems = problems
        var bad = Self.judged(problems)
        for figure in figures where figure.status != .ok { bad.append((figure.status, figure.words)) }
        bad.sort { $0.status > $1.status }
        status = bad.first?.status ?? .ok
        let live = stats.calls.live.values.reduce(0, +)
        summary =
            bad.isEmpty
            ? "\(PartyText.count(live, "live call")), \(PartyText.count(stats.sessions.online, "session"))"
            : Self.joined(bad.map { $0.words })
    }

    /// Of a standby, which has a list of problems and no figures of its own.
    init(_ standby: ReadinessView, _ limits: CheckOptions) {
        problems = standby.problems.filter { !limits.ignore.contains($0.code) }
        figures = Self.counts(problems)
        let bad = Self.judged(problems)
        status = bad.map(\.status).max() ?? .ok
        summary = Self.joined([standby.standsBy].compactMap { $0 } + bad.map { $0.words })
    }

    /// Whole sentences too.
    private static func joined(_ words: [String]) -> String { words.map(\.clause).joined(separator: "; ") }

    private static func counts(_ problems: [ServerProblem]) -> [Figure] {
        let severe = problems.filter { $0.severity == .critical }.count
        return [("problems", problems.count), ("critical_problems", severe)].map { name, count in
            Figure(name: name, unit: "", value: Double(count), warning: nil, critical: nil, status: .ok, words: "")
        }
    }

    private static func judged(_ problems: [ServerProblem]) -> [(status: CheckStatus, words: String)] {
        problems.map { (status: $0.severity == .critical ? CheckStatus.critical : .warning, words: $0.words) }
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
