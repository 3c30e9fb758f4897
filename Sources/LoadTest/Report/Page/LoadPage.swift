import AdminProtocol

/// A record as one page of HTML: nothing else is loaded, and no script runs.
public struct LoadPage {
    private let record: LoadRecord
    private let report: LoadReport
    private let plots: ReportPlots

    public init(_ record: LoadRecord) {
        self.record = record
        report = record.report
        plots = ReportPlots(record.report)
    }

    /// HTML that is well-formed XML too.
    public var html: String {
        let title = "reveille load \(record.plan.scenario.rawValue)"
        return """
            <!DOCTYPE html>
            <html lang="en" xmlns="http://www.w3.org/1999/xhtml">
            <head>
            <meta charset="utf-8"/>
            <meta name="viewport" content="width=device-width, initial-scale=1"/>
            <title>\(Markup.escaped(title))</title>
            <style>
            \(PageStyle.css)
            </style>
            </head>
            <body>
            <main>
            \(sections.flatMap(\.self).joined(separator: "\n"))
            </main>
            </body>
            </html>

            """
    }

    private var sections: [[String]] {
        [head, verdict, doubts, headlines, plotSection, stageSection, figureSection, ledgerSection, runSection, footer]
    }

    // MARK: What matters first

    private var head: [String] {
        let environment = record.environment
        let machine = [
            environment.processor, "\(environment.cores) cores", environment.kernel,
            report.fileSystem.map { "data on \($0)" },
        ].compactMap(\.self)
        let time = Timestamp(record.startedAt).rfc3339
        return [
            Markup.element("h1", "Load test: \(record.plan.scenario.rawValue)"),
            Markup.element(
                "p", class: "soft",
                "\(time) · reveille \(environment.version) · "
                    + machine.joined(separator: " · ")),
        ]
    }

    private var verdict: [String] {
        let isGood = !report.hasFailed && !record.isInterrupted
        var lines = [Markup.element("strong", record.verdict)]
        if !record.faults.isEmpty { lines.append(list(record.faults)) }
        let kind = isGood ? "good" : report.hasFailed ? "wrong" : "doubt"
        return [Markup.element("div", class: "box \(kind)", markup: lines.joined())]
    }

    private var doubts: [String] {
        guard !report.doubts.isEmpty else { return [] }
        let lines = Markup.element("strong", "Read the figures with care:") + list(report.doubts)
        return [Markup.element("div", class: "box doubt", markup: lines)]
    }

    private var headlines: [String] {
        var items = Headlines(report).figures.map { headline($0.text, Headlines.name($0.key), $0.definition) }
        if let stage = report.stages.first(where: { $0.count > 0 }) {
            let (p50, p99) = (PlotAxis.duration(Double(stage.p50)), PlotAxis.duration(Double(stage.p99)))
            items.append(headline(p99, "p99 of \(stage.name); p50 \(p50)", stage.definition))
        }
        guard !items.isEmpty else { return [] }
        return [Markup.element("ul", class: "heads", markup: items.joined())]
    }

    private func headline(_ value: String, _ name: String, _ definition: String) -> String {
        "<li title=\"\(Markup.escaped(definition))\">\(Markup.element("b", value))\(Markup.element("span", name))</li>"
    }

    private func list(_ items: [String]) -> String {
        Markup.element("ul", markup: items.map { Markup.element("li", $0) }.joined())
    }

    // MARK: Plots

    private var plotSection: [String] {
        let each = plots.secondsPerPoint
        let condensed = each > 1 ? " One point is \(each) s: the mean of counts, the greatest of times." : ""
        let shown: [(Plot?, String)] = [
            (
                plots.percentiles,
                "Each line: how many of all stayed within which time. Both axes are logarithmic; every nine has the "
                    + "same room."
            ),
            (plots.times, "Seconds of the part that counts.\(condensed)"),
            (plots.rates, "Pieces of work begun and completed in each second.\(condensed)"),
            (plots.underWay, "Pieces under way at the end of each second."),
            (plots.cores, "CPU time by wall time: 1 is one core. This machine has \(record.environment.cores)."),
        ]
        let figures = shown.compactMap { plot, caption in
            plot.map { plot in
                let inside = [
                    Markup.element("h3", plot.title), plot.legend, plot.svg, Markup.element("figcaption", caption),
                ]
                return Markup.element("figure", markup: inside.joined(separator: "\n"))
            }
        }
        guard !figures.isEmpty else { return [] }
        return [Markup.element("h2", "How long it took, and how it went over time")]
            + [Markup.element("div", class: "plots", markup: figures.joined(separator: "\n"))]
    }

    // MARK: Tables

    private var stageSection: [String] {
        guard !report.stages.isEmpty else { return [] }
        let titles = ["count", "min", "p50", "p90", "p99", "p99.9", "max"].map {
            Markup.element("th", class: "number", $0)
        }
        var table = MarkupTable(
            head: [Markup.element("th", "stage")] + titles + [Markup.element("th", "from what to what")])
        for (index, stage) in report.stages.enumerated() {
            let times = [stage.min, stage.p50, stage.p90, stage.p99, stage.p999, stage.max]
            let cells = stage.count > 0 ? times.map(StageReport.milliseconds) : times.map { _ in "–" }
            let name = Plot.swatch(ReportPlots.style(ofStage: index)) + Markup.element("code", stage.key)
            table.add(
                [Markup.element("th", markup: name)] + (["\(stage.count)"] + cells).map(number)
                    + [Markup.element("td", class: "said", stage.definition)])
        }
        return [
            Markup.element("h2", "Stages, in ms"), table.markup, Markup.element("p", class: "soft", record.paceNote),
        ]
    }

    private var figureSection: [String] {
        var table = MarkupTable(head: [
            Markup.element("th", "figure"), Markup.element("th", class: "number", "value"),
            Markup.element("th", "what was counted"),
        ])
        for group in Figure.Group.allCases {
            let figures = report.figures.filter { $0.group == group }
            guard !figures.isEmpty else { continue }
            table.addTitle(Headlines.name(group))
            for figure in figures {
                table.add([
                    Markup.element("th", markup: Markup.element("code", figure.key)), number(figure.text),
                    Markup.element("td", class: "said", figure.definition),
                ])
            }
        }
        return table.isEmpty ? [] : [Markup.element("h2", "Figures"), table.markup]
    }

    /// The push ledger, where there is something in it.
    private var ledgerSection: [String] {
        guard let ledger = report.ledger, ledger.intended > 0 else { return [] }
        return [Markup.element("h2", "The push ledger"), list(ledger.sums)]
    }

    private var runSection: [String] {
        let environment = record.environment
        let rows =
            record.plan.entries.map { ($0.option, $0.value) } + [
                ("cores", "\(environment.cores)"), ("memory", Figure.text(Double(environment.memory), .bytes)),
                ("kernel", environment.kernel), ("processor", environment.processor ?? "unknown"),
                ("version", environment.version), ("file system", report.fileSystem ?? "unknown"),
                ("books", report.audit.words),
            ]
        var table = MarkupTable(style: "narrow")
        for (name, value) in rows {
            table.add([Markup.element("th", markup: Markup.element("code", name)), Markup.element("td", value)])
        }
        return [
            Markup.element("h2", "How it was run"), Markup.element("pre", record.plan.commandLine), table.markup,
        ]
    }

    private var footer: [String] {
        [
            Markup.element(
                "footer",
                "Compare figures of one machine only, and costs (CPU for each piece) rather than rates. "
                    + "man reveille-load defines all of them.")
        ]
    }

    private func number(_ text: String) -> String { Markup.element("td", class: "number", text) }
}
