import Foundation

/// The plots of a report.
struct ReportPlots {
    /// More seconds than these are drawn several to a point.
    private static let mostPoints = 1_000
    /// Colours in the order of ``PageStyle``; behind the last they come again, dashed.
    private static let colours = 8

    let report: LoadReport
    /// How many seconds one point of the plots over time stands for.
    let secondsPerPoint: Int
    private let moments: [SecondReport]

    init(_ report: LoadReport) {
        self.report = report
        secondsPerPoint = max(1, (report.series.count + Self.mostPoints - 1) / Self.mostPoints)
        moments = Self.condensed(report.series, by: secondsPerPoint)
    }

    /// The class of the stage's line, wherever it is drawn.
    static func style(ofStage index: Int) -> String {
        "c\(index % colours)" + (index / colours % 2 == 1 ? " dashed" : "")
    }

    // MARK: By percentile

    /// How many of all calls stayed within which time, one line a stage; nil when nothing was timed.
    var percentiles: Plot? {
        let stages = report.stages.enumerated().filter { !$0.element.distribution.isEmpty }
        let all = stages.flatMap { $0.element.distribution.map(\.microseconds) }
        guard let least = all.min(), let greatest = all.max() else { return nil }
        let lines = stages.map { index, stage in
            Plot.Line(
                name: stage.key, style: Self.style(ofStage: index),
                points: stage.distribution.map { point in
                    Plot.Point(
                        x: PlotAxis.nineness(point.percentile, count: stage.count),
                        y: Double(max(1, point.microseconds)),
                        words: "\(stage.key): \(Self.percentile(point.percentile)) % within "
                            + PlotAxis.duration(Double(point.microseconds)))
                })
        }
        return Plot(
            title: "Time by percentile", x: .percentiles(count: stages.map(\.element.count).max() ?? 1),
            y: .durations(from: least, to: greatest), lines: lines)
    }

    /// With as many nines as it has, up to 99.9999.
    private static func percentile(_ value: Double) -> String {
        let text = String(format: "%.4f", value)
        return String(text.reversed().drop { $0 == "0" }.drop { $0 == "." }.reversed())
    }

    // MARK: Over time

    var rates: Plot? {
        let lines: [(String, String, (SecondReport) -> Int)] = [
            ("begun", "c2", \.begun), ("completed", "c0", \.completed), ("failed", "bad", \.failed),
        ]
        let shown = lines.filter { $0.0 != "failed" || report.series.contains { $0.failed > 0 } }
        return plot("Pieces a second", shown.map { name, style, value in (name, style, { Double(value($0)) }) }) {
            Figure.number($0)
        }
    }

    var underWay: Plot? {
        plot("Under way", [("under way", "c4", { Double($0.underWay) })]) { Figure.number($0) }
    }

    var times: Plot? {
        let name = report.stages.first?.key ?? ""
        return plot(
            "\(name) in each second", [("p50", "c0", { Self.time($0.p50) }), ("p99", "c1", { Self.time($0.p99) })]
        ) {
            PlotAxis.duration($0)
        }
    }

    /// nil where nothing was timed: a gap.
    private static func time(_ microseconds: UInt64) -> Double? { microseconds == 0 ? nil : Double(microseconds) }

    var cores: Plot? {
        plot("Cores", [("server", "c0", \.serverCores), ("load generator", "c1", \.ownCores)]) { Figure.number($0) }
    }

    /// - Parameter lines: with name, style, and value; a line without any value is left out.
    private func plot(
        _ title: String, _ lines: [(name: String, style: String, value: (SecondReport) -> Double?)],
        label: (Double) -> String
    ) -> Plot? {
        let drawn = lines.map { name, style, value in
            Plot.Line(
                name: name, style: style,
                points: moments.map { moment in
                    value(moment).map {
                        Plot.Point(x: Double(moment.second), y: $0, words: "\(moment.second) s, \(name): \(label($0))")
                    }
                })
        }.filter { $0.points.contains { $0 != nil } }
        guard !drawn.isEmpty else { return nil }
        let greatest = drawn.flatMap { $0.points.compactMap { $0?.y } }.max() ?? 0
        return Plot(
            title: title, x: .time(upTo: moments.last?.second ?? 0),
            y: .count(upTo: greatest > 0 ? greatest : 1, label: label), lines: drawn)
    }

    /// Several seconds as one: the mean of what is counted, the last of what is under way, the greatest of the times.
    private static func condensed(_ series: [SecondReport], by step: Int) -> [SecondReport] {
        guard step > 1 else { return series }
        return stride(from: 0, to: series.count, by: step).map { start in
            let part = series[start..<min(start + step, series.count)]
            func mean(_ value: (SecondReport) -> Int) -> Int {
                Int((Double(part.reduce(0) { $0 + value($1) }) / Double(part.count)).rounded())
            }
            func mean(_ value: (SecondReport) -> Double?) -> Double? {
                let values = part.compactMap(value)
                return values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
            }
            return SecondReport(
                second: part[part.startIndex].second, begun: mean(\.begun), completed: mean(\.completed),
                failed: mean(\.failed), underWay: part[part.endIndex - 1].underWay, p50: part.map(\.p50).max() ?? 0,
                p99: part.map(\.p99).max() ?? 0, serverCores: mean(\.serverCores), ownCores: mean(\.ownCores))
        }
    }
}
