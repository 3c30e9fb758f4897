import CallVocabulary

/// A probe's report as monitoring systems take it.
enum CheckText {
    /// One line: the plugins' way (Nagios, Icinga), with performance data after the bar.
    static func nagios(_ report: CheckReport) -> String {
        let words = report.summary.shown.replacingBytes("|", with: "/")
        let head = "REVEILLE \(report.status.word.uppercased()) - \(words)"
        let data = report.figures.map { figure in
            "\(figure.name)=\(Threshold.text(figure.value))\(figure.unit);\(Threshold.text(figure.warning));"
                + "\(Threshold.text(figure.critical));0"
        }
        return data.isEmpty ? head : "\(head) | \(data.joined(separator: " "))"
    }

    /// For the node exporter's textfile collector.
    static func prometheus(_ report: CheckReport) -> [String] {
        func gauge(_ name: String, _ help: String, _ samples: [String]) -> [String] {
            ["# HELP reveille_check_\(name) \(help)", "# TYPE reveille_check_\(name) gauge"]
                + samples.map { "reveille_check_\(name)\($0)" }
        }
        var lines = gauge("up", "1 when the server answered.", [report.figures.isEmpty ? " 0" : " 1"])
        lines += gauge(
            "status", "0 ok, 1 warning, 2 critical, 3 unknown: the worst of all problems and figures.",
            [" \(report.status.rawValue)"])
        guard !report.figures.isEmpty else { return lines }
        lines += gauge(
            "figure", "What the probe looked at, in the unit of its label.",
            report.figures.map { "{name=\"\($0.name)\",unit=\"\($0.unit)\"} \(Threshold.text($0.value))" })
        lines += gauge(
            "figure_status", "0 ok, 1 warning, 2 critical.",
            report.figures.map { "{name=\"\($0.name)\"} \($0.status.rawValue)" })
        return lines
    }
}
