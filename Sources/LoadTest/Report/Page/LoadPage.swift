import AdminProtocol
import Foundation

/// A record as one page of HTML, which is XML too. It loads nothing and runs no script.
public struct LoadPage {
    private let record: LoadRecord
    private var report: LoadReport { record.report }

    public init(_ record: LoadRecord) { self.record = record }

    public var html: String { page.html }

    private var page: Markup {
        """
        <!DOCTYPE html>
        <html lang="en" xmlns="http://www.w3.org/1999/xhtml">
        <head>
        <meta charset="utf-8"/>
        <meta name="viewport" content="width=device-width, initial-scale=1"/>
        <title>reveille load \(record.plan.scenario.rawValue)</title>
        <style>
        \(Self.style)
        </style>
        </head>
        <body>
        <h1>Load test: \(record.plan.scenario.rawValue)</h1>
        <p class="soft">\(origin)</p>
        \([verdict, doubts, headlines, charts, stages, figures, ledger, run])
        <footer>Compare figures of one machine only, and costs (CPU time per operation) rather than rates. \
        man reveille-load defines all of them.</footer>
        </body>
        </html>

        """
    }

    private var origin: String {
        let environment = record.environment
        return [
            Timestamp(record.startedAt).rfc3339, "reveille \(environment.version)", environment.processor,
            "\(environment.cores) cores", environment.kernel, environment.fileSystem.map { "data on \($0)" },
        ].compactMap(\.self).joined(separator: " · ")
    }

    // MARK: The result

    private var verdict: Markup {
        let kind = report.hasFailed ? "wrong" : record.isInterrupted ? "doubt" : "good"
        return "<div class=\"box \(kind)\"><strong>\(record.verdict)</strong>\(Self.list(record.faults))</div>"
    }

    private var doubts: Markup {
        guard !report.doubts.isEmpty else { return "" }
        return "<div class=\"box doubt\"><strong>Read the figures with care:</strong>\(Self.list(report.doubts))</div>"
    }

    private var headlines: Markup {
        var items: [Markup] = Headlines(report).figures.map {
            "<li title=\"\($0.definition)\"><b>\($0.text)</b>\(Headlines.name($0.key))</li>"
        }
        if let stage = report.stages.first(where: { $0.count > 0 }) {
            let (p50, p99) = (Figure.duration(Double(stage.p50)), Figure.duration(Double(stage.p99)))
            items.append("<li title=\"\(stage.definition)\"><b>\(p99)</b>p99 of \(stage.name); p50 \(p50)</li>")
        }
        return items.isEmpty ? "" : "<ul class=\"heads\">\(items)</ul>"
    }

    private var charts: Markup {
        let charts = report.charts
        guard !charts.isEmpty else { return "" }
        return "<h2>Latency and rates</h2>\n<div class=\"charts\">\n\(charts.map(\.markup))\n</div>"
    }

    // MARK: Tables

    private var stages: Markup {
        guard !report.stages.isEmpty else { return "" }
        let rows: [Markup] = report.stages.enumerated().map { index, stage in
            let times = [stage.min, stage.p50, stage.p90, stage.p99, stage.p999, stage.max]
            let cells = stage.count > 0 ? times.map(StageReport.milliseconds) : times.map { _ in "–" }
            let numbers: [Markup] = (["\(stage.count)"] + cells).map { "<td class=\"number\">\($0)</td>" }
            return """
                <tr><th>\(Chart.swatch(index))<code>\(stage.key)</code></th>\(numbers)<td class="soft">\
                \(stage.definition)</td></tr>
                """
        }
        let columns = ["stage", "count", "min", "p50", "p90", "p99", "p99.9", "max", "definition"]
        return "<h2>Stages, in ms</h2>\n\(Self.table(columns, rows))\n<p class=\"soft\">\(record.paceNote)</p>"
    }

    private var figures: Markup {
        guard !report.figures.isEmpty else { return "" }
        let rows: [Markup] = Figure.Group.allCases.flatMap { group -> [Markup] in
            let figures: [Markup] = report.figures.filter { $0.group == group }.map {
                """
                <tr><th><code>\($0.key)</code></th><td class="number">\($0.text)</td><td class="soft">\
                \($0.definition)</td></tr>
                """
            }
            return figures.isEmpty ? [] : ["<tr><th class=\"group\">\(Headlines.name(group))</th></tr>"] + figures
        }
        return "<h2>Figures</h2>\n\(Self.table(["figure", "value", "definition"], rows))"
    }

    private var ledger: Markup {
        guard let ledger = report.ledger, ledger.intended > 0 else { return "" }
        return "<h2>The push ledger</h2>\n\(Self.list(ledger.sums))"
    }

    private var run: Markup {
        let environment = record.environment
        let rows =
            record.plan.entries.map { ($0.option, $0.value) } + [
                ("cores", "\(environment.cores)"), ("memory", Figure.text(Double(environment.memory), .bytes)),
                ("kernel", environment.kernel), ("processor", environment.processor ?? "unknown"),
                ("version", environment.version), ("file system", environment.fileSystem ?? "unknown"),
                ("audit", report.audit.words),
            ]
        let cells: [Markup] = rows.map { "<tr><th><code>\($0)</code></th><td>\($1)</td></tr>" }
        return "<h2>The run</h2>\n<pre>\(record.plan.commandLine)</pre>\n\(Self.table([], cells))"
    }

    private static func table(_ columns: [String], _ rows: [Markup]) -> Markup {
        let head: [Markup] = columns.map { "<th>\($0)</th>" }
        return "<table>\n\(head.isEmpty ? "" : "<tr>\(head)</tr>\n" as Markup)\(rows)\n</table>"
    }

    private static func list(_ items: [String]) -> Markup {
        items.isEmpty ? "" : "<ul>\(items.map { "<li>\($0)</li>" })</ul>"
    }

    private static let style: Markup = """
        :root { color-scheme: light dark; --soft: #808080; --edge: #80808050; }
        body { max-width: 1180px; margin: 0 auto; padding: 24px 16px; font: 15px/1.5 system-ui, sans-serif; }
        h3, ul, figure { margin: 0 0 6px; }
        code, pre { font: 13px ui-monospace, monospace; }
        pre { white-space: pre-wrap; overflow-wrap: anywhere; }
        .soft, figcaption, footer { color: var(--soft); }
        .box { margin: 12px 0; padding: 8px 14px; border-left: 4px solid; overflow-wrap: anywhere; }
        .good { border-color: #2a9d4a; background: #2a9d4a20; }
        .wrong { border-color: #d0392e; background: #d0392e20; }
        .doubt { border-color: #c98a00; background: #c98a0020; }
        .heads, .charts { display: grid; gap: 12px; padding: 0; list-style: none;
          grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); }
        .charts { grid-template-columns: repeat(auto-fill, minmax(min(100%, 460px), 1fr)); }
        .heads li, figure, pre { padding: 10px 14px; border: 1px solid var(--edge); border-radius: 6px; }
        .heads b { display: block; font-size: 24px; }
        .legend { display: flex; flex-wrap: wrap; gap: 0 16px; margin: 0; font-size: 13px; }
        .swatch { width: 10px; margin-right: 6px; }
        .line { fill: none; stroke-width: 2; }
        .grid { stroke: var(--edge); }
        svg text { fill: var(--soft); font-size: 12.5px; }
        table { display: block; overflow-x: auto; border-collapse: collapse; font-size: 14px; }
        th, td { padding: 5px 10px; border-top: 1px solid var(--edge); text-align: left; vertical-align: top; }
        tr th { font-weight: normal; } .group { font-weight: bold; }
        .number { text-align: right; white-space: nowrap; }
        @media print { :root { color-scheme: light; } tr, figure { break-inside: avoid; } }
        """
}
