import AdminProtocol
import CallVocabulary
import LoadTest

/// What a load test came to, for people.
struct LoadText {
    private static let indent = 2

    let record: LoadRecord
    private var report: LoadReport { record.report }

    init(_ record: LoadRecord) { self.record = record }

    var lines: [String] {
        [head, figures, stages, failures, ledger, doubts].joined(separator: [""]) + [""] + verdict
    }

    private var head: [String] {
        let environment = record.environment
        let machine =
            "\(Moment.text(record.startedAt)), reveille \(environment.version), \(environment.cores) cores, "
            + environment.kernel + (report.fileSystem.map { ", data on \($0)" } ?? "")
        return [Terminal.bold("load \(record.plan.scenario.rawValue)")]
            + (Self.wrapped(record.plan.commandLine, by: Self.indent) + Self.wrapped(machine, by: Self.indent))
    }

    private var figures: [String] {
        var table = Table([
            "FIGURE", Table.Column("VALUE", isRight: true), Table.Column("WHAT WAS COUNTED", sacrifice: 2, least: 40),
        ])
        for group in Figure.Group.allCases {
            let figures = report.figures.filter { $0.group == group }
            guard !figures.isEmpty else { continue }
            table.add([Table.Cell(Headlines.name(group), .bold)])
            for figure in figures {
                table.add([Table.Cell("  " + figure.key), Table.Cell(figure.text), Table.Cell(figure.definition)])
            }
        }
        return table.isEmpty ? ["nothing was counted"] : table.lines
    }

    private var stages: [String] {
        let times = ["P50", "P90", "P99", "P99.9", "MAX"].map { Table.Column($0, isRight: true) }
        var table = Table(
            ["STAGE, IN MS", Table.Column("COUNT", isRight: true)] + times
                + [Table.Column("FROM WHAT TO WHAT", sacrifice: 2, least: 40)])
        for stage in report.stages {
            let times = [stage.p50, stage.p90, stage.p99, stage.p999, stage.max]
            let cells = stage.count > 0 ? times.map(StageReport.milliseconds) : times.map { _ in "-" }
            table.add([stage.key, "\(stage.count)"] + cells + [stage.definition])
        }
        return table.isEmpty ? ["nothing was timed"] : table.lines + Self.wrapped(record.paceNote).map(Terminal.dim)
    }

    private var failures: [String] {
        let failed = record.failures.map { "FAILED: \($0.count) × \($0.reason)" }
        let broken = report.violations.map { "BROKEN: \($0)" }
        guard !failed.isEmpty || !broken.isEmpty else { return Self.wrapped("no failures; \(report.audit.words)") }
        let books = broken.isEmpty ? Self.wrapped(report.audit.words) : []
        return (failed + broken).flatMap { Self.wrapped($0) }.map(Terminal.red) + books
    }

    /// The push ledger, where there is something in it.
    private var ledger: [String] {
        guard let ledger = report.ledger else { return ["the push ledger was not read"] }
        guard ledger.intended > 0 else { return ["no pushes in the ledger"] }
        return ["the push ledger:"] + ledger.sums.flatMap { Self.wrapped($0, by: Self.indent) }
    }

    private var doubts: [String] {
        guard !report.doubts.isEmpty else { return ["no doubts about the figures"] }
        return report.doubts.flatMap { Self.wrapped("DOUBT: \($0)") }.map { Terminal.styled($0, .yellow) }
    }

    private var verdict: [String] {
        let style: TextStyle =
            report.hasFailed ? .red : report.doubts.isEmpty && !record.isInterrupted ? .green : .yellow
        return Self.wrapped(record.verdict).map { Terminal.styled($0, style) }
    }

    private static func wrapped(_ text: String, by indent: Int = 0) -> [String] {
        text.shown.wrapped(to: Console.current.width.map { $0 - indent }).map {
            String(repeating: " ", count: indent) + $0
        }
    }
}
