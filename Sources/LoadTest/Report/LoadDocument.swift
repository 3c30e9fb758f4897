import AdminProtocol
import Foundation

/// A record for programs. `LoadReports.md` lists the keys; they stay, and ``version`` grows when one changes its
/// meaning.
public struct LoadDocument: Codable, Equatable, Sendable {
    public static let version = 2

    public let reportVersion: Int
    public let scenario: String
    /// `open` or `closed`.
    public let loop: String
    public let passed: Bool
    public let interrupted: Bool
    public let startedAt: Timestamp
    public let command: String
    /// By option.
    public let plan: [String: String]
    public let environment: LoadEnvironment
    /// By key.
    public let figures: [String: Value]
    public let stages: [String: StageReport]
    public let series: [SecondReport]
    /// How often, by reason.
    public let failures: [String: Int]
    /// By ``AuditState``.
    public let audit: String
    public let violations: [String]
    /// Missing in reports of earlier versions.
    public let conditions: [Condition]?
    public let doubts: [String]

    enum CodingKeys: String, CodingKey {
        case scenario, loop, passed, interrupted, command, plan, environment, figures, stages, series, failures, audit,
            violations, conditions, doubts
        case reportVersion = "report_version"
        case startedAt = "started_at"
    }

    public init(_ record: LoadRecord) {
        let report = record.report
        reportVersion = Self.version
        scenario = record.plan.scenario.rawValue
        switch record.plan.pace {
        case .open: loop = "open"
        case .closed: loop = "closed"
        }
        passed = !report.hasFailed && !record.isInterrupted
        interrupted = record.isInterrupted
        startedAt = Timestamp(record.startedAt)
        command = record.plan.commandLine
        // Each option is there once.
        plan = Dictionary(record.plan.entries.map { ($0.option, $0.value) }) { first, _ in first }
        environment = record.environment
        figures = Dictionary(report.figures.map { ($0.key, Value($0)) }) { first, _ in first }
        stages = Dictionary(report.stages.map { ($0.key, $0) }) { first, _ in first }
        series = report.series
        failures = report.failures
        audit = report.audit.rawValue
        violations = report.violations
        conditions = report.judgements.map(Condition.init)
        doubts = report.doubts
    }

    /// With its keys in order.
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        return try encoder.encode(self) + Data("\n".utf8)
    }

    public struct Value: Codable, Equatable, Sendable {
        /// nil if it is not finite: JSON has no infinity.
        public let value: Double?
        /// By ``Figure/Unit``.
        public let unit: String
        public let group: String
        public let definition: String

        init(_ figure: Figure) {
            value = figure.value.isFinite ? figure.value : nil
            unit = figure.unit.rawValue
            group = figure.group.rawValue
            definition = figure.definition
        }
    }

    public struct Condition: Codable, Equatable, Sendable {
        /// As it was given.
        public let failIf: String
        /// In the unit of what was measured, latencies in microseconds; nil if it was not measured.
        public let value: Double?
        public let failed: Bool

        enum CodingKeys: String, CodingKey {
            case failIf = "fail_if"
            case value, failed
        }

        init(_ judgement: LoadCondition.Judgement) {
            failIf = judgement.condition.text
            value = judgement.value
            failed = judgement.hasFailed
        }
    }
}
