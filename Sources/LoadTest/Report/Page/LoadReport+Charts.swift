extension LoadReport {
    /// More seconds than these share a point.
    private static let mostPoints = 1_000

    var charts: [Chart] {
        let first = stages.first?.key ?? ""
        return [
            percentiles,
            overTime(
                "Latency of \(first)", "Percentiles of each second.", Figure.duration, joined: Swift.max,
                [("p50", 0, { Self.time($0.p50) }), ("p99", 1, { Self.time($0.p99) })]),
            overTime(
                "Operations per second", "Operations begun, completed and failed in each second.", Figure.number,
                [
                    ("begun", 0, { Double($0.begun) }), ("completed", 1, { Double($0.completed) }),
                    ("failed", 2, { [self] in failures.isEmpty ? nil : Double($0.failed) }),
                ]),
            overTime(
                "Under way", "Operations under way at the end of each second.", Figure.number,
                [("under way", 0, { Double($0.underWay) })]),
            overTime(
                "Cores", "CPU time by wall time: 1 is one core.", Figure.number,
                [("server", 0, \.serverCores), ("load generator", 1, \.ownCores)]),
        ].compactMap(\.self)
    }

    /// The whole distribution of each stage; nil without samples.
    private var percentiles: Chart? {
        let timed = stages.enumerated().filter { !$0.element.distribution.isEmpty }
        let times = timed.flatMap { $0.element.distribution.map(\.microseconds) }
        guard let least = times.min(), let greatest = times.max() else { return nil }
        let y = Chart.Axis.decades(from: least, to: greatest)
        return Chart(
            title: "Latency by percentile",
            caption: "The share of samples within a latency. Both axes are logarithmic; each further nine is as wide.",
            x: .percentiles(count: timed.map(\.element.count).max() ?? 1), y: y,
            lines: timed.map { index, stage in
                Chart.Line(
                    name: stage.key, colour: index,
                    points: stage.distribution.map {
                        (
                            Chart.Axis.nines($0.percentile, count: stage.count),
                            Chart.Axis.exponent(ofMicroseconds: $0.microseconds)
                        )
                    })
            })
    }

    /// nil without samples: a gap.
    private static func time(_ microseconds: UInt64) -> Double? { microseconds == 0 ? nil : Double(microseconds) }

    /// - Parameter joined: makes one value of two seconds that share a point; nil: the mean.
    private func overTime(
        _ title: String, _ caption: String, _ label: (Double) -> String,
        joined: ((Double, Double) -> Double)? = nil,
        _ values: [(name: String, colour: Int, of: (SecondReport) -> Double?)]
    ) -> Chart? {
        let step = Swift.max(1, (series.count + Self.mostPoints - 1) / Self.mostPoints)
        let lines = values.map { value in
            Chart.Line(
                name: value.name, colour: value.colour,
                points: stride(from: 0, to: series.count, by: step).map { start in
                    let seconds = series[start..<Swift.min(start + step, series.count)]
                    let known = seconds.compactMap(value.of)
                    guard let first = known.first else { return nil }
                    let rest = known.dropFirst()
                    let y = joined.map { rest.reduce(first, $0) } ?? rest.reduce(first, +) / Double(known.count)
                    return (Double(series[start].second), y)
                })
        }.filter { $0.points.contains { $0 != nil } }
        guard !lines.isEmpty else { return nil }
        let greatest = lines.flatMap { $0.points.compactMap { $0?.y } }.max() ?? 0
        return Chart(
            title: title, caption: step > 1 ? "\(caption) One point is \(step) s." : caption,
            x: .linear(upTo: Double(series.last?.second ?? 0)) { "\(Figure.number($0)) s" },
            y: .linear(upTo: greatest, label), lines: lines)
    }
}
