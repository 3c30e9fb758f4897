/// What a run came to.
public struct LoadReport: Sendable {
    public let scenario: String
    public var figures: [Figure] = []
    public var latencies: [LatencySummary] = []
    /// What failed, by reason.
    public var failures: [String: Int] = [:]
    /// Laws of the store that the run broke.
    public var violations: [String] = []

    init(scenario: String) { self.scenario = scenario }

    public var hasFailed: Bool { !failures.isEmpty || !violations.isEmpty }

    /// Adds what the machine did while `usage` was taken.
    mutating func add(_ usage: UsageSpan) {
        figures += [
            Figure("measured_seconds", usage.elapsed.seconds, .seconds, "wall time that the rates and CPU times cover"),
            Figure("server_cpu_seconds", usage.server.seconds, .seconds, "user and system time of the server process"),
            Figure(
                "server_cores", usage.server / usage.elapsed, .cores, "server CPU time per wall time; 1 is one core"),
            Figure("own_cores", usage.own / usage.elapsed, .cores, "the same of this process, which makes the load"),
            Figure(
                "other_cores", max(0, (usage.machine - usage.server - usage.own) / usage.elapsed), .cores,
                "the same of everything else on this machine, and what its host took away (steal)"),
        ]
    }
}

/// One number of a report.
public struct Figure: Sendable {
    public enum Unit: Sendable {
        case count, perSecond, seconds, microseconds, bytes, cores
    }

    /// Stable, for programs.
    public let key: String
    public let value: Double
    public let unit: Unit
    /// What exactly was counted.
    public let definition: String

    init(_ key: String, _ value: Double, _ unit: Unit, _ definition: String) {
        self.key = key
        self.value = value
        self.unit = unit
        self.definition = definition
    }
}

/// How long something took: percentiles in microseconds.
public struct LatencySummary: Sendable {
    public let key: String
    public let definition: String
    public let count: Int
    public let p50, p90, p99, p999, max: UInt64
}
