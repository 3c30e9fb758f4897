import CallCore
import CallStore
import CallVocabulary

/// Makes the report of what a run came to.
struct ReportBuilder {
    let outcome: LoadOutcome
    let all: Recorder.Result
    /// The part that counts, in seconds; 0 when the run ended before it.
    let measured: Double
    let cores: CoresUsed?

    init(_ outcome: LoadOutcome) {
        self.outcome = outcome
        all = outcome.recorded
        measured = outcome.schedule?.measured.inSeconds ?? 0
        cores = outcome.began.flatMap { began in outcome.ended.map { CoresUsed(began, $0) } }
    }

    var plan: LoadPlan { outcome.plan }

    /// - Parameter audit: of the store of a server of its own.
    func report(audit: StoreAudit?) -> LoadReport {
        var report = LoadReport(scenario: plan.scenario)
        report.figures =
            workFigures + scenarioFigures + serverFigures + legFigures + memoryFigures
            + holdingFigures + generatorFigures
        if plan.needsPushes { report.figures += pushFigures(audit) }
        for stage in outcome.threads.first?.stages ?? [] {
            guard let latencies = all.stages[stage.rawValue] else { continue }
            report.stages.append(latencies.report(key: stage.key, definition: stage.definition))
        }
        report.series = series
        report.failures = all.failures
        report.violations = audit?.violations ?? ledgerViolations
        report.doubts = doubts
        return report
    }

    // MARK: Work

    var completedPerSecond: Double { measured > 0 ? Double(all.completed) / measured : 0 }

    private var workFigures: [Figure] {
        let piece = plan.piece
        var figures = [
            Figure("seconds", .work, measured, .seconds, "the part that counts"),
            Figure("begun", .work, Double(all.begun), .count, "each \(piece) that was due in the part that counts"),
            Figure(
                "completed", .work, Double(all.completed), .count, "each \(piece) completed in the part that counts"),
            Figure(
                "completed_per_second", .work, completedPerSecond, .perSecond,
                "each \(piece) completed in the part that counts, by second"),
            Figure(
                "completed_in_all", .work, Double(all.completedInAll), .count,
                "each \(piece) completed, ramp, warm-up and drain included"),
        ]
        if case .open(let rate) = plan.pace {
            figures += [
                Figure(
                    "asked_per_second", .work, rate, .perSecond, "each \(piece) asked for, by second, after the ramp"),
                Figure(
                    "not_begun", .work, Double(all.notBegun), .count,
                    "each \(piece) that was due, ramp and warm-up included, when no phone was free for it"),
            ]
        }
        let most = outcome.seconds.filter(\.isCounted).map(\.underWay).max() ?? 0
        figures.append(
            Figure("under_way_most", .work, Double(most), .count, "under way at the end of a second, the most"))
        return figures
    }

    /// What the workloads counted themselves.
    private var scenarioFigures: [Figure] {
        var figures: [Figure] = []
        for figure in outcome.threads.flatMap(\.figures) {
            guard let index = figures.firstIndex(where: { $0.key == figure.key }) else {
                figures.append(figure)
                continue
            }
            let sum = figures[index].value + figure.value
            figures[index] = Figure(figure.key, figure.group, sum, figure.unit, figure.definition)
        }
        return figures
    }

    // MARK: Seconds

    private var series: [SecondReport] {
        guard let schedule = outcome.schedule else { return [] }
        var reports: [SecondReport] = []
        for (before, second) in zip(outcome.seconds, outcome.seconds.dropFirst()) where second.isCounted {
            let elapsed = max(1e-6, before.end.duration(to: second.end).inSeconds)
            let own = second.cpu.reduce(0) { $0 + ($1.value - before.cpu[$1.key, default: $1.value]).inSeconds }
            reports.append(
                SecondReport(
                    second: Int(schedule.warmUpEnd.duration(to: before.end).inSeconds.rounded()), begun: second.begun,
                    completed: second.completed, failed: second.failed, underWay: second.underWay,
                    p50: second.latencies?.percentile(50) ?? 0, p99: second.latencies?.percentile(99) ?? 0,
                    serverCores: serverCores(from: before.end, to: second.end), ownCores: own / elapsed))
        }
        return reports
    }

    private func serverCores(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) -> Double? {
        guard let first = outcome.ticks.last(where: { $0.planned == start }),
            let last = outcome.ticks.last(where: { $0.planned == end })
        else { return nil }
        return (last.server.cpu - first.server.cpu).inSeconds / max(1e-6, first.at.duration(to: last.at).inSeconds)
    }

    // MARK: The books

    private func pushFigures(_ audit: StoreAudit?) -> [Figure] {
        var figures: [Figure] = []
        let key = "reveille_pushes_intended_total"
        if let before = outcome.began?.metrics?[key], let after = outcome.ended?.metrics?[key], measured > 0 {
            figures.append(
                Figure(
                    "pushes_per_second", .pushes, (after - before) / measured, .perSecond,
                    "pushes that the server intended in the part that counts, by second"))
        }
        guard let audit else { return figures }
        for status in ProviderStatus.allCases where audit.counts.count(status) > 0 {
            figures.append(
                Figure(
                    "ledger_\(status.rawValue)", .pushes, Double(audit.counts.count(status)), .count,
                    "pushes in the server's ledger, all of the run, that are \(status.rawValue) with the provider"))
        }
        for status in ReportStatus.allCases where audit.counts.count(status) > 0 {
            figures.append(
                Figure(
                    "ledger_report_\(status.rawValue)", .pushes, Double(audit.counts.count(status)), .count,
                    "pushes in the server's ledger, all of the run, that their device says are \(status.rawValue)"))
        }
        return figures
    }

    /// Of a server elsewhere.
    private var ledgerViolations: [String] {
        guard let before = outcome.ready?.metrics?.ledgerViolations,
            let after = outcome.over?.metrics?.ledgerViolations,
            after > before
        else { return [] }
        return ["the server's push ledger breaks \(Int(after - before)) laws more than before the run"]
    }
}
