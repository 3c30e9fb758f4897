import AdminProtocol

/// What a load test came to.
public struct LoadReport: Sendable {
    public let scenario: LoadPlan.Scenario
    /// In groups, in the order in which they are to be shown.
    public var figures: [Figure] = []
    public var stages: [StageReport] = []
    /// One for each second of the part that counts.
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

    /// What was asked for by one of the command's options.
    public struct PlanEntry: Equatable, Sendable {
        public let option: String
        public let value: String

        public init(_ option: String, _ value: String) {
            self.option = option
            self.value = value
        }
    }
}

/// One number of a report.
public struct Figure: Sendable {
    public enum Unit: String, CaseIterable, Sendable {
        case count, perSecond, seconds, microseconds, bytes, cores, ratio
    }

    public enum Group: String, CaseIterable, Sendable {
        /// What was done: calls, sessions, messages, pushes.
        case work
        /// What it cost the server.
        case server
        /// Whether the load was the bottleneck: own CPU time, late starts, other work on the machine.
        case generator
        /// What the push provider and the ledger say.
        case pushes
    }

    /// Stable, for programs.
    public let key: String
    public let group: Group
    public let value: Double
    public let unit: Unit
    /// What exactly was counted.
    public let definition: String

    /// With what a piece of work is called in its definition.
    func counting(_ piece: String) -> Figure {
        Figure(key, group, value, unit, definition.replacing(LoadFigure.piece, with: piece))
    }

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

/// How long one step took, over all of the part that counts. All times are whole microseconds.
public struct StageReport: Sendable {
    /// Stable, for programs.
    public let key: String
    /// ``LoadStage/name``.
    public var name: String { LoadStage.allCases.first { $0.key == key }?.name ?? key }
    /// From what to what.
    public let definition: String
    public let count: Int
    public let mean: Double
    public let min, p50, p90, p99, p999, max: UInt64
    /// The whole distribution for a plot: with growing percentile (0 to 100), the time that so many stayed within.
    public let distribution: [Point]

    public struct Point: Sendable {
        public let percentile: Double
        public let microseconds: UInt64
    }
}

/// One second of a run.
public struct SecondReport: Sendable {
    /// Since the part that counts began.
    public let second: Int
    public let begun, completed, failed: Int
    /// Under way at its end.
    public let underWay: Int
    /// Of the scenario's first stage, in microseconds; 0 when it did not occur.
    public let p50, p99: UInt64
    /// CPU time by wall time, 1 is one core; nil where it cannot be known.
    public let serverCores, ownCores: Double?
}
