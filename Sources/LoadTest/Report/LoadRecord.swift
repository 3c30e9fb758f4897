import CallVocabulary

/// A report together with what it takes to judge it and to repeat it: what is written down of a load test.
public struct LoadRecord: Sendable {
    public let plan: LoadPlan
    public let report: LoadReport
    public private(set) var environment: LoadEnvironment
    public let startedAt: Instant
    /// Somebody ended it before its time: the figures are those of what was done so far.
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

    /// Whether all went well, in one sentence.
    public var verdict: String {
        if report.hasFailed {
            let counts = [
                (report.violations.count, "broken law"), (report.judgements.count(where: \.hasFailed), "broken limit"),
            ]
            let parts = report.failureCounts.words + counts.filter { $0.0 > 0 }.map(FailureCounts.count)
            return "It did not go well: \(parts.joined(separator: ", "))"
                + (isInterrupted ? ", and it was interrupted." : ".")
        }
        let books = report.audit.words
        if isInterrupted { return "It was interrupted; nothing had failed so far, and \(books)." }
        guard report.doubts.isEmpty else {
            return "Nothing failed, and \(books); the figures are in doubt for "
                + FailureCounts.count(report.doubts.count, "reason") + "."
        }
        return "All went well: nothing failed, and \(books)."
    }

    /// Failures by how often, the most frequent first.
    public var failures: [(reason: String, count: Int)] {
        report.failures.map { (reason: $0.key, count: $0.value) }.sorted {
            ($1.count, $0.reason) < ($0.count, $1.reason)
        }
    }

    /// What is wrong with it, each in a line: failures, broken laws, and limits that were passed.
    public var faults: [String] {
        failures.map { "\($0.count) × \($0.reason)" } + report.violations.map { "broken law: \($0)" }
            + report.judgements.filter(\.hasFailed).map(\.words)
    }

    /// What its latencies are those of.
    public var paceNote: String {
        switch plan.pace {
        case .open(let rate):
            "Open loop: \(Figure.number(rate)) a second were due, whatever became of those before. Times count from "
                + "when a piece was due, so that waiting for its turn is part of them."
        case .closed(let concurrency):
            "Closed loop: \(concurrency) at a time, each followed by the next. While the server is slow it is asked "
                + "less, so these times hide the waiting that callers at a fixed rate would see (coordinated omission); "
                + "--rate shows it."
        }
    }
}
