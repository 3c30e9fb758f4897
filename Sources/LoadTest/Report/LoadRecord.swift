import CallVocabulary

/// A report with the plan and the environment of its run.
public struct LoadRecord: Sendable {
    public let plan: LoadPlan
    public let report: LoadReport
    public private(set) var environment: LoadEnvironment
    public let startedAt: Instant
    /// The figures are those of the run until the interrupt.
    public let isInterrupted: Bool

    public init(
        plan: LoadPlan, report: LoadReport, environment: LoadEnvironment, startedAt: Instant, isInterrupted: Bool
    ) {
        self.plan = plan
        self.report = report
        self.environment = environment
        self.environment.fileSystem = report.fileSystem
        self.startedAt = startedAt
        self.isInterrupted = isInterrupted
    }

    /// The result in one sentence.
    public var verdict: String {
        if report.hasFailed {
            let counts = [
                (report.violations.count, "violation"),
                (report.judgements.count(where: \.hasFailed), "failed condition"),
            ]
            let parts = report.failureCounts.words + counts.filter { $0.0 > 0 }.map(FailureCounts.count)
            return "The run failed: \(parts.joined(separator: ", "))"
                + (isInterrupted ? ", and was interrupted." : ".")
        }
        let books = report.audit.words
        if isInterrupted { return "The run was interrupted; nothing had failed so far, and \(books)." }
        guard report.doubts.isEmpty else {
            return "The run passed with "
                + FailureCounts.count(report.doubts.count, "doubt") + ": nothing failed, and \(books)."
        }
        return "The run passed: nothing failed, and \(books)."
    }

    /// Failures by how often, the most frequent first.
    public var failures: [(reason: String, count: Int)] {
        report.failures.map { (reason: $0.key, count: $0.value) }.sorted {
            ($1.count, $0.reason) < ($0.count, $1.reason)
        }
    }

    /// Failures, violations and failed conditions, each in a line.
    public var faults: [String] {
        failures.map { "\($0.count) × \($0.reason)" } + report.violations.map { "violation: \($0)" }
            + report.judgements.filter(\.hasFailed).map(\.words)
    }

    /// The loop, and what its latencies mean.
    public var paceNote: String {
        switch plan.pace {
        case .open(let rate):
            "Open loop: \(Figure.number(rate)) operations were due per second, however slow the server was. Latency "
                + "counts from "
                + "when an operation was due, so it includes the wait for its turn."
        case .closed(let concurrency):
            "Closed loop: \(concurrency) operations at a time, each followed by the next. A slow server gets less "
                + "load, so these "
                + "latencies hide the wait that callers at a fixed rate would see (coordinated omission); --rate "
                + "shows it."
        }
    }
}
