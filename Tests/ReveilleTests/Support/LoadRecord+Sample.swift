import AdminProtocol
import CallVocabulary

@testable import LoadTest

extension LoadRecord {
    /// A report as it comes out of a run in an open loop, with something of everything; the texts of others in it want to
    /// be more than text.
    static func sample(failed: Bool = true, doubts: Bool = true, isInterrupted: Bool = false) -> LoadRecord {
        var plan = LoadPlan(.wake, pace: .open(rate: 250), target: .own(LoadTarget.OwnServer(executable: "/r")))
        plan.duration = .seconds(12)
        plan.warmUp = .milliseconds(1500)
        plan.answerRatio = 0.9
        plan.hold = .milliseconds(200)
        plan.sessions = 1_000
        var report = LoadReport(scenario: .wake)
        report.figures = figures
        report.stages = stages
        report.series = (0..<12).map(second)
        report.audit = failed ? .broken : .balanced
        report.ledger = ledger
        report.fileSystem = "ext4"
        if failed {
            report.failures = [
                "call.invite: <script>alert('x')</script> & \"worse\"": 2, Recorder.nobodyFree: 14,
                "the server said: \u{1B}[31mred\u{202E}": 2, "session lost: closed with 1006": 3,
            ]
            (report.failureCounts.failed, report.failureCounts.notBegun) = (2, 14)
            (report.failureCounts.sessionsLost, report.failureCounts.others) = (3, 2)
            report.violations = ["push 0b9c8e4e-6f2a-4d0b-9e55-3a1f8a1c2d3e is sent and accepted at once"]
        }
        if doubts {
            report.doubts = [
                "the load generator began its work late: p99 2.4 ms, 7 % of the p50 of invite_result; give it --threads",
                "other work took 0.41 of the machine's 2 cores",
            ]
        }
        let environment = LoadEnvironment(
            version: "0.7.0", cores: 2, memory: 8_345_677_824, kernel: "Linux 6.1.0-18-amd64 x86_64",
            processor: "A <processor> & more")
        return LoadRecord(
            plan: plan, report: report, environment: environment,
            // An hour before the tests' now.
            startedAt: Scenarios.begin, isInterrupted: isInterrupted)
    }

    private static let figures: [Figure] = [
        LoadFigure.Work.completed.figure(2_986), LoadFigure.Work.completedPerSecond.figure(248.8333),
        LoadFigure.Work.notBegun.figure(14), LoadFigure.Work.seconds.figure(12.0312),
        LoadFigure.Server.cpuPerPiece.figure(341.27), LoadFigure.Server.cores.figure(0.0853),
        // Of nothing, what cannot be divided is not there.
        LoadFigure.Server.cpuPerPieceByMetrics.figure(.infinity), LoadFigure.Server.memoryPerSession.figure(7_612.4),
        LoadFigure.Server.memoryAfter.figure(48_123_904), LoadFigure.Server.memoryGrowth.figure(0.03125),
        LoadFigure.Generator.ownThreadNCores.figure(0.3125, of: "0"), LoadFigure.Generator.latenessP99.figure(2_400),
        LoadFigure.Pushes.providerAccepted.figure(2_990), LoadFigure.Pushes.ledgerStatus.figure(2_990, of: "accepted"),
    ]

    /// What became of the pushes of those calls.
    private static let ledger = AuditView(
        balanced: true, intended: 2_992, provider: [.accepted: 2_990, .cancelled: 2],
        report: [.reported: 2_988, .unreported: 2], violations: [], overdue: [])

    /// Grows with the percentile as times do.
    private static func stage(_ key: String, _ definition: String, p50: UInt64) -> StageReport {
        let percentiles: [Double] = [0, 10, 25, 50, 75, 90, 95, 97.5, 99, 99.5, 99.9, 99.95, 100]
        let factors: [UInt64] = [4, 6, 8, 10, 13, 18, 24, 30, 42, 60, 110, 160, 290]
        let values = factors.map { p50 * $0 / 10 }
        return StageReport(
            key: key, definition: definition, count: 2_986, mean: Double(p50) * 1.14, min: values[0], p50: p50,
            p90: values[5], p99: values[8], p999: values[10], max: values[12],
            distribution: zip(percentiles, values).map { StageReport.Point(percentile: $0, microseconds: $1) })
    }

    private static let stages = [
        stage("invite_result", "the call was due to its call.invite answered: the call is on disk", p50: 1_412),
        stage("invite_push_accepted", "the call was due to its push accepted by the provider", p50: 3_304),
        stage("push_reported", "the push was accepted by the provider to its report at the server", p50: 4_871),
        stage("invite_ringing", "the call was due to ringing at the caller", p50: 9_650),
        stage("answer_answered", "call.answer sent by the callee to answered at the caller", p50: 812),
        StageReport(
            key: "hangup_ended", definition: "call.hangup sent by the caller to the end at both sides", count: 0,
            mean: 0, min: 0, p50: 0, p90: 0, p99: 0, p999: 0, max: 0, distribution: []),
    ]

    /// In the seventh nothing was timed, and one could not be measured.
    private static func second(_ number: Int) -> SecondReport {
        let wave = [0, 12, -8, 4, 20, -16, -40, 31, 9, -3, 6, -5][number]
        let isSlow = number == 6
        return SecondReport(
            second: number, begun: 250 + wave / 2, completed: 249 + wave, failed: isSlow ? 14 : number == 7 ? 4 : 0,
            underWay: isSlow ? 118 : 54 + wave / 4, p50: isSlow ? 0 : UInt64(1_400 + wave * 3),
            p99: isSlow ? 0 : UInt64(5_900 + wave * 61), serverCores: isSlow ? nil : 0.085 + Double(wave) / 2000,
            ownCores: 0.31)
    }
}
