import AdminProtocol
import CallStore
import CallVocabulary
import StoreInterface

/// Makes the report of what a run came to.
struct ReportBuilder {
    let outcome: LoadOutcome
    let all: Recorder.Result
    /// The measured part, in seconds; 0 when the run ended before it.
    let measured: Double
    let cores: CoresUsed?

    init(_ outcome: LoadOutcome) {
        self.outcome = outcome
        all = outcome.recorded
        measured = outcome.schedule?.measured.inSeconds ?? 0
        cores = outcome.began.flatMap { began in outcome.ended.map { CoresUsed(began, $0) } }
    }

    var plan: LoadPlan { outcome.plan }

    /// - Parameter audit: nil where nobody could read the books.
    func report(audit: ServerAudit?) -> LoadReport {
        var report = LoadReport(scenario: plan.scenario)
        report.figures =
            workFigures + scenarioFigures + serverFigures + legFigures + memoryFigures
            + holdingFigures + generatorFigures
        if plan.needsPushes { report.figures += pushFigures(audit) }
        report.stages = LoadStage.allCases.compactMap { all.stages[$0]?.report($0) }
        // Without refused calls the report has no such row.
        report.stages.removeAll { $0.key == LoadStage.inviteRefused.key && $0.count == 0 }
        report.series = series
        report.failures = all.failures
        report.failureCounts = all.failureCounts
        if plan.target.losesSessions {
            // They are in the figures. What the run is about is that calls go on, and the store has all of them.
            report.failures = report.failures.filter { !$0.key.hasPrefix(Recorder.lossPrefix) }
            report.failureCounts.sessionsLost = 0
        }
        if outcome.schedule != nil, all.completedInAll == 0, !outcome.wasStopped, all.failureCounts.operations == 0 {
            report.fail("nothing was completed")
        }
        if let kills = outcome.kills, kills.gaps.isEmpty, kills.failure == nil, !outcome.wasStopped {
            report.fail("no home was killed")
        }
        report.violations = audit?.violations ?? ledgerViolations ?? []
        report.audit = auditState(audit)
        report.fileSystem = outcome.fileSystem?.description ?? plan.target.database.map { "\($0)" }
        report.ledger = audit?.books
        report.doubts = doubts + auditDoubts(audit)
        return report
    }

    /// - Parameter unread: why the books could not be read, of a server that there is a way to. No law is known to be
    ///   broken for that; the run has failed all the same, for what was asked of it is not known.
    func report(unread: String) -> LoadReport {
        var report = report(audit: nil)
        report.fail("the audit failed: \(unread)")
        return report
    }

    // MARK: Work

    var completedPerSecond: Double { measured > 0 ? Double(all.completed) / measured : 0 }

    private var workFigures: [Figure] {
        typealias Work = LoadFigure.Work
        var figures = [
            Work.seconds.figure(measured), Work.begun.figure(all.begun), Work.completed.figure(all.completed),
            Work.completedPerSecond.figure(completedPerSecond), Work.completedInAll.figure(all.completedInAll),
            Work.failed.figure(all.failureCounts.failed), Work.notOver.figure(all.failureCounts.notOver),
            Work.sessionsLost.figure(all.failureCounts.sessionsLost),
        ]
        if case .open(let rate) = plan.pace {
            figures += [Work.askedPerSecond.figure(rate), Work.notBegun.figure(all.failureCounts.notBegun)]
        }
        figures += [Work.underWayMost.figure(outcome.underWayMost), Work.underWayMean.figure(all.underWayMean)]
        if case .closed = plan.pace { figures.append(Work.refused.figure(all.refused)) }
        if outcome.wasStopped { figures.append(Work.cutShort.figure(all.cutShort)) }
        return figures
    }

    /// What the workloads counted themselves.
    private var scenarioFigures: [Figure] { outcome.threads.flatMap(\.figures).summed }

    // MARK: Seconds

    private var series: [SecondReport] {
        guard let schedule = outcome.schedule else { return [] }
        let ticks = Dictionary(outcome.ticks.map { ($0.planned, $0) }) { $1 }
        func serverCores(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) -> Double? {
            guard let first = ticks[start], let last = ticks[end] else { return nil }
            let taken = first.at.duration(to: last.at)
            // The kernel counts in steps of 10 ms: of a second that was looked at late they say nothing.
            guard taken > .zero, taken >= start.duration(to: end) / 2 else { return nil }
            return (last.server.cpu - first.server.cpu).inSeconds / taken.inSeconds
        }
        var reports: [SecondReport] = []
        for (before, second) in zip(outcome.seconds, outcome.seconds.dropFirst()) where second.isCounted {
            let elapsed = max(1e-6, before.end.duration(to: second.end).inSeconds)
            let own = second.time.reduce(0) { $0 + ($1.value.cpu - (before.time[$1.key] ?? $1.value).cpu).inSeconds }
            reports.append(
                SecondReport(
                    second: Int(schedule.warmUpEnd.duration(to: before.end).inSeconds.rounded()), begun: second.begun,
                    completed: second.completed, failed: second.failed, underWay: second.underWay,
                    p50: second.p50, p99: second.p99,
                    serverCores: serverCores(from: before.end, to: second.end), ownCores: own / elapsed))
        }
        return reports
    }

    /// How much a count of the server's own grew in the measured part, and in what time.
    func growth(of count: (ServerMetrics) -> Double?) -> (amount: Double, seconds: Double)? {
        guard let began = outcome.began, let ended = outcome.ended else { return nil }
        return began.growth(until: ended, of: count)
    }

    // MARK: The books

    private func pushFigures(_ audit: ServerAudit?) -> [Figure] {
        typealias Pushes = LoadFigure.Pushes
        var figures: [Figure] = []
        if let intended = growth(of: { $0["reveille_pushes_intended_total"] }), measured > 0 {
            figures.append(Pushes.pushesPerSecond.figure(intended.amount / intended.seconds))
        }
        if let written = growth(of: { $0.pushesWritten }), written.amount > 0,
            let inTime = growth(of: { $0.pushesWrittenInTime })
        {
            figures.append(Pushes.pushesWrittenInTime.figure(inTime.amount / written.amount))
        }
        guard let books = audit?.books else { return figures }
        for status in ProviderStatus.allCases {
            guard let count = books.provider[status], count > 0 else { continue }
            figures.append(Pushes.ledgerStatus.figure(Double(count), of: status.rawValue))
        }
        for status in ReportStatus.allCases {
            guard let count = books.report[status], count > 0 else { continue }
            figures.append(Pushes.ledgerReportStatus.figure(Double(count), of: status.rawValue))
        }
        return figures
    }
}
