import AdminProtocol

/// What a load test came to.
public struct LoadReport: Sendable {
    public let scenario: LoadPlan.Scenario
    /// In groups, in the order in which they are to be shown.
    public var figures: [Figure] = []
    public var stages: [StageReport] = []
    /// One for each second of the measured part.
    public var series: [SecondReport] = []
    /// What failed, by reason, how often. Includes what could not be begun when it was due.
    public var failures: [String: Int] = [:]
    /// The same by what failed.
    public var failureCounts = FailureCounts()
    /// Laws of the store, or of the push ledger, that the run broke; empty too where nobody looked, see ``audit``.
    public var violations: [String] = []
    public var audit = AuditState.notRead
    /// The push ledger at the end; nil where nobody could read it.
    public var ledger: AuditView?
    /// What the data of a server of its own lay on: `ext4`; nil for another's.
    public var fileSystem: String?
    /// What makes the figures doubtful, in words: a load generator at its limit, starts that came late, other work on
    /// the machine, what could not be measured.
    public var doubts: [String] = []

    public init(scenario: LoadPlan.Scenario) { self.scenario = scenario }

    /// What the run was to be failed for, see ``judge(_:)``.
    public private(set) var judgements: [LoadCondition.Judgement] = []

    /// Doubts are no failure.
    public var hasFailed: Bool {
        !failures.isEmpty || !violations.isEmpty || judgements.contains(where: \.hasFailed)
    }

    /// Looks whether the run fails by one of the conditions.
    public mutating func judge(_ conditions: [LoadCondition]) { judgements = conditions.map { $0.judge(self) } }

    /// Something failed besides the load.
    mutating func fail(_ reason: String) {
        failures[reason, default: 0] += 1
        failureCounts.others += 1
    }
}

/// One number of a report.
public struct Figure: Sendable {
    /// By its name in JSON.
    public enum Unit: String, CaseIterable, Sendable {
        case count
        case perSecond = "per_second"
        case seconds = "s"
        case microseconds = "us"
        case bytes, cores, ratio
    }

    public enum Group: String, CaseIterable, Sendable {
        case work, server, generator, pushes
    }

    /// Stable, for programs.
    public let key: String
    public let group: Group
    public let value: Double
    public let unit: Unit
    /// What exactly was counted.
    public let definition: String

    public init(_ key: String, _ group: Group, _ value: Double, _ unit: Unit, _ definition: String) {
        self.key = key
        self.group = group
        self.value = value
        self.unit = unit
        self.definition = definition
    }
}

extension [Figure] {
    /// Those with one key as one, in the order of the first of each.
    var summed: [Figure] {
        var sums: [Figure] = []
        for figure in self {
            guard let index = sums.firstIndex(where: { $0.key == figure.key }) else {
                sums.append(figure)
                continue
            }
            sums[index] = Figure(
                figure.key, figure.group, sums[index].value + figure.value, figure.unit, figure.definition)
        }
        return sums
    }
}

/// The samples of one stage in the measured part, in whole microseconds.
public struct StageReport: Codable, Equatable, Sendable {
    /// Stable, for programs. Not in JSON, where the report has its stages by key.
    public var key = ""
    /// ``LoadStage/name``.
    public var name: String { LoadStage.allCases.first { $0.key == key }?.name ?? key }
    /// From what to what.
    public let definition: String
    public let count: Int
    public let mean: Double
    public let min, p50, p90, p99, p999, max: UInt64
    /// For a plot, by growing percentile (0 to 100).
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

    public struct Point: Codable, Equatable, Sendable {
        public let percentile: Double
        public let microseconds: UInt64

        enum CodingKeys: String, CodingKey {
            case percentile
            case microseconds = "us"
        }
    }
}

/// One second of a run.
public struct SecondReport: Codable, Equatable, Sendable {
    /// Since the measured part began.
    public let second: Int
    public let begun, completed, failed: Int
    /// Under way at its end.
    public let underWay: Int
    /// Of the scenario's first stage, in microseconds; 0 without samples.
    public let p50, p99: UInt64
    /// CPU time by wall time, 1 is one core; nil if it cannot be known.
    public let serverCores, ownCores: Double?

    enum CodingKeys: String, CodingKey {
        case second, begun, completed, failed
        case underWay = "under_way"
        case p50 = "p50_us"
        case p99 = "p99_us"
        case serverCores = "server_cores"
        case ownCores = "own_cores"
    }
}
