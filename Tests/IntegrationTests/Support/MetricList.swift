import Foundation

/// The server's metrics as documented in `Metrics.md`.
struct MetricList {
    struct Metric: Equatable {
        let type: String
        let labels: Set<String>
    }

    let metrics: [String: Metric]

    static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    init() throws {
        let article = Self.package.appending(path: "Sources/CallServer/CallServer.docc/Metrics.md")
        var metrics: [String: Metric] = [:]
        for line in try String(contentsOf: article, encoding: .utf8).split(separator: "\n") where line.hasPrefix("| `")
        {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 7 else { throw InVain(what: "five columns in: \(line)") }
            let labels = cells[3].split(separator: ",").map {
                $0.trimmingCharacters(in: .whitespaces.union(.init(charactersIn: "`")))
            }
            let name = cells[1].trimmingCharacters(in: .init(charactersIn: "`"))
            guard metrics[name] == nil, !cells[4].isEmpty else { throw InVain(what: "one description of \(name)") }
            metrics[name] = Metric(type: cells[2], labels: Set(labels))
        }
        self.metrics = metrics
    }

    /// The metric of a series: a histogram has three series.
    func metric(ofSeries name: String) -> (name: String, metric: Metric)? {
        if let metric = metrics[name] { return (name, metric) }
        for suffix in ["_bucket", "_sum", "_count"] where name.hasSuffix(suffix) {
            let base = String(name.dropLast(suffix.count))
            if let metric = metrics[base], metric.type == "histogram" { return (base, metric) }
        }
        return nil
    }

    static func names(in expression: String) -> Set<String> {
        Set(expression.matches(of: /\b(?:reveille|process)_[a-z_]+/).map { String($0.output) })
    }

    // MARK: Rules and dashboard

    static func alarms() throws -> [String: String] {
        let text = try String(contentsOf: package.appending(path: "Resources/prometheus/alerts.yml"), encoding: .utf8)
        var alarms: [String: String] = [:]
        for part in text.components(separatedBy: "- alert: ").dropFirst() {
            guard let name = part.split(separator: "\n").first, let start = part.range(of: "expr:"),
                let end = part.range(of: "\n        labels:") ?? part.range(of: "\n        for:")
            else { throw InVain(what: "an alarm's expression") }
            let stop = part.range(of: "\n        for:").map { min($0.lowerBound, end.lowerBound) } ?? end.lowerBound
            alarms[String(name)] = part[start.upperBound..<stop].trimmingCharacters(in: .whitespacesAndNewlines)
                .trimmingPrefix("|").trimmingCharacters(in: .whitespacesAndNewlines)
        }
        return alarms
    }

    static func panels() throws -> [(title: String, expressions: [String])] {
        let data = try Data(contentsOf: package.appending(path: "Resources/grafana/reveille.json"))
        let dashboard = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        return (dashboard?["panels"] as? [[String: Any]] ?? []).compactMap { panel in
            guard let title = panel["title"] as? String, let targets = panel["targets"] as? [[String: Any]] else {
                return nil
            }
            return (title, targets.compactMap { $0["expr"] as? String })
        }
    }
}
