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
    public let environment: Environment
    /// By key.
    public let figures: [String: Value]
    public let stages: [String: Stage]
    public let series: [Second]
    /// How often, by reason.
    public let failures: [String: Int]
    /// By ``AuditState``.
    public let audit: String
    public let violations: [String]
    /// What the run was to be failed for; missing in reports of earlier versions.
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
        environment = Environment(record.environment, fileSystem: report.fileSystem)
        figures = Dictionary(report.figures.map { ($0.key, Value($0)) }) { first, _ in first }
        stages = Dictionary(report.stages.map { ($0.key, Stage($0)) }) { first, _ in first }
        series = report.series.map(Second.init)
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

    public struct Environment: Codable, Equatable, Sendable {
        public let version: String
        public let cores: Int
        public let memoryBytes: UInt64
        public let kernel: String
        public let processor: String?
        public let fileSystem: String?

        enum CodingKeys: String, CodingKey {
            case version, cores, kernel, processor
            case memoryBytes = "memory_bytes"
            case fileSystem = "file_system"
        }

        init(_ environment: LoadEnvironment, fileSystem: String?) {
            self.fileSystem = fileSystem
            version = environment.version
            cores = environment.cores
            memoryBytes = environment.memory
            kernel = environment.kernel
            processor = environment.processor
        }
    }

    public struct Condition: Codable, Equatable, Sendable {
        /// As it was given.
        public let failIf: String
        /// In the unit of what was measured, of times microseconds; nil where it was not measured.
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

    public struct Value: Codable, Equatable, Sendable {
        /// nil where there is nothing to divide by: JSON has no infinity.
        public let value: Double?
        public let unit: String
        public let group: String
        public let definition: String

        init(_ figure: Figure) {
            value = figure.value.isFinite ? figure.value : nil
            unit = figure.unit.key
            group = figure.group.rawValue
            definition = figure.definition
        }
    }

    public struct Stage: Codable, Equatable, Sendable {
        public let definition: String
        public let count: Int
        public let mean: Double
        public let min, p50, p90, p99, p999, max: UInt64
        public let distribution: [Point]

        enum CodingKeys: String, CodingKey {
            case definition, count, distribution
            case mean = "mean_us"
            case min = "min_us"
            case p50 = "p50_us"
            case p90 = "p90_us"
            case p99 = "p99_us"
            case p999 = "p999_us"
            case max = "max_us"
        }

        init(_ stage: StageReport) {
            definition = stage.definition
            count = stage.count
            mean = stage.mean.isFinite ? stage.mean : 0
            (min, p50, p90) = (stage.min, stage.p50, stage.p90)
            (p99, p999, max) = (stage.p99, stage.p999, stage.max)
            distribution = stage.distribution.map(Point.init)
        }
    }

    public struct Point: Codable, Equatable, Sendable {
        public let percentile: Double
        public let microseconds: UInt64

        enum CodingKeys: String, CodingKey {
            case percentile
            case microseconds = "us"
        }

        init(_ point: StageReport.Point) {
            percentile = point.percentile
            microseconds = point.microseconds
        }
    }

    public struct Second: Codable, Equatable, Sendable {
        public let second, begun, completed, failed, underWay: Int
        public let p50, p99: UInt64
        public let serverCores, ownCores: Double?

        enum CodingKeys: String, CodingKey {
            case second, begun, completed, failed
            case underWay = "under_way"
            case p50 = "p50_us"
            case p99 = "p99_us"
            case serverCores = "server_cores"
            case ownCores = "own_cores"
        }

        init(_ second: SecondReport) {
            self.second = second.second
            (begun, completed, failed) = (second.begun, second.completed, second.failed)
            underWay = second.underWay
            (p50, p99) = (second.p50, second.p99)
            (serverCores, ownCores) = (second.serverCores, second.ownCores)
        }
    }
}

extension Figure.Unit {
    /// Its name in JSON.
    var key: String {
        switch self {
        case .count: "count"
        case .perSecond: "per_second"
        case .seconds: "s"
        case .microseconds: "us"
        case .bytes: "bytes"
        case .cores: "cores"
        case .ratio: "ratio"
        }
    }
}
