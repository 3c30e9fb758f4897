import Foundation
import LoadTest

/// The report of a load test, for people and for programs.
enum LoadText {
    // MARK: Progress

    /// One line that is written over and over; nothing where no terminal shows it.
    static func progress(_ text: String) {
        guard Terminal.isInteractive else { return }
        FileHandle.standardOutput.write(Data("\r\u{1B}[K\(text)".utf8))
    }

    static func clearProgress() { progress("") }

    // MARK: For people

    static func lines(_ report: LoadReport) -> [String] {
        var lines = [Terminal.bold("load \(report.scenario)")]
        var figures = Table(["FIGURE", "VALUE", "WHAT IT IS"])
        for figure in report.figures { figures.add([figure.key, value(figure), figure.definition]) }
        lines += figures.lines
        if !report.latencies.isEmpty {
            var latencies = Table(["LATENCY", "COUNT", "P50", "P90", "P99", "P99.9", "MAX", "WHAT IT IS"])
            for latency in report.latencies {
                let times = [latency.p50, latency.p90, latency.p99, latency.p999, latency.max].map(milliseconds)
                latencies.add([latency.key, "\(latency.count)"] + times + [latency.definition])
            }
            lines += [""] + latencies.lines
        }
        lines.append("")
        for (reason, count) in report.failures.sorted(by: { $0.key < $1.key }) {
            lines.append(Terminal.red("FAILED: \(count) × \(reason)"))
        }
        lines += report.violations.map { Terminal.red("BROKEN: \($0)") }
        if !report.hasFailed { lines.append(Terminal.green("nothing failed, and the store's books balance")) }
        return lines
    }

    private static func value(_ figure: Figure) -> String {
        switch figure.unit {
        case .count: String(format: "%.0f", figure.value)
        case .perSecond: String(format: "%.0f/s", figure.value)
        case .seconds: String(format: "%.2f s", figure.value)
        case .microseconds: String(format: "%.1f µs", figure.value)
        case .bytes:
            abs(figure.value) < 1_048_576
                ? String(format: "%.0f B", figure.value) : String(format: "%.1f MiB", figure.value / 1_048_576)
        case .cores: String(format: "%.2f", figure.value)
        }
    }

    private static func milliseconds(_ microseconds: UInt64) -> String {
        String(format: "%.2f ms", Double(microseconds) / 1000)
    }

    // MARK: For programs

    /// The keys are those of the figures; latencies are in microseconds.
    static func json(_ report: LoadReport) throws -> Data {
        var figures: [String: Any] = [:]
        for figure in report.figures { figures[figure.key] = figure.value }
        var latencies: [String: Any] = [:]
        for latency in report.latencies {
            latencies[latency.key] = [
                "count": latency.count, "p50_us": latency.p50, "p90_us": latency.p90, "p99_us": latency.p99,
                "p999_us": latency.p999, "max_us": latency.max,
            ]
        }
        return try JSONSerialization.data(
            withJSONObject: [
                "scenario": report.scenario, "figures": figures, "latencies": latencies, "failures": report.failures,
                "violations": report.violations,
            ], options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    }
}
