import AdminProtocol
import CallVocabulary
import LoadTest

/// What a load test came to, for people: how it went, what makes it doubtful, a few figures and the times.
struct LoadText {
    private static let indent = 2

    let record: LoadRecord
    /// With every figure and what it counts, and the push ledger.
    let hasFigures: Bool
    private var report: LoadReport { record.report }

    var lines: [String] {
        let parts = [head, verdict, headlines, stages]
        return (hasFigures ? parts + [figures, definitions, ledger] : parts).joined(separator: [""]) + [""] + more
    }

    private var head: [String] {
        let environment = record.environment
        let machine =
            "\(Moment.text(record.startedAt)), reveille \(environment.version), \(environment.cores) cores, "
            + environment.kernel + (environment.fileSystem.map { ", data on \($0)" } ?? "")
        return [Terminal.bold("load \(record.plan.scenario.rawValue)")]
            + (Self.wrapped(record.plan.commandLine, by: Self.indent) + Self.wrapped(machine, by: Self.indent))
    }

    private var verdict: [String] {
        let style: TextStyle =
            report.hasFailed ? .red : report.doubts.isEmpty && !record.isInterrupted ? .green : .yellow
        return Self.wrapped(record.verdict).map { Terminal.styled($0, style) }
            + record.faults.flatMap { Self.wrapped("FAILED: \($0)") }.map(Terminal.red)
            + (record.faults.isEmpty ? [] : Self.wrapped(report.audit.words))
            + report.doubts.flatMap { Self.wrapped("DOUBT: \($0)") }.map { Terminal.styled($0, .yellow) }
    }

    private var headlines: [String] {
        let figures = Headlines(report).figures
        guard !figures.isEmpty else { return ["nothing was counted"] }
        var table = Table(["FIGURE", Table.Column("VALUE", isRight: true)])
        for figure in figures { table.add([Headlines.name(figure.key), figure.text]) }
        return table.lines
    }

    private var stages: [String] {
        let times = ["P50", "P90", "P99", "P99.9", "MAX"].map { Table.Column($0, isRight: true) }
        var table = Table(["STAGE, IN MS", Table.Column("COUNT", isRight: true)] + times)
        for stage in report.stages {
            let times = [stage.p50, stage.p90, stage.p99, stage.p999, stage.max]
            let cells = stage.count > 0 ? times.map(StageReport.milliseconds) : times.map { _ in "-" }
            table.add([stage.name, "\(stage.count)"] + cells)
        }
        return table.isEmpty ? ["nothing was timed"] : table.lines + Self.wrapped(record.paceNote).map(Terminal.dim)
    }

    // MARK: With all figures

    private var figures: [String] {
        var table = Table([
            "FIGURE", Table.Column("VALUE", isRight: true), Table.Column("DEFINITION", sacrifice: 2, least: 40),
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

    /// The stages by their keys, which `--fail-if` and `--json` have.
    private var definitions: [String] {
        var table = Table(["STAGE", Table.Column("DEFINITION", sacrifice: 2, least: 40)])
        for stage in report.stages { table.add([stage.key, stage.definition]) }
        return table.isEmpty ? [] : table.lines
    }

    /// The push ledger, where there is something in it.
    private var ledger: [String] {
        guard let ledger = report.ledger else { return ["the push ledger was not read"] }
        guard ledger.intended > 0 else { return ["no pushes in the ledger"] }
        return ["the push ledger:"] + ledger.sums.flatMap { Self.wrapped($0, by: Self.indent) }
    }

    private var more: [String] {
        let files = "--json FILE for programs, --html FILE for a page with charts."
        return Self.wrapped("More: \(hasFigures ? "" : "--figures for all figures, ")" + files).map(Terminal.dim)
    }

    private static func wrapped(_ text: String, by indent: Int = 0) -> [String] {
        text.shown.wrapped(to: Console.current.width.map { $0 - indent }).map {
            String(repeating: " ", count: indent) + $0
        }
    }
}
