import CallVocabulary

/// The rows deleted by retention, by table.
public struct RetentionCounts: Equatable, Sendable {
    public package(set) var calls = 0
    /// History entries of users.
    public package(set) var parties = 0
    public package(set) var legs = 0
    public package(set) var pushes = 0
    public package(set) var descriptions = 0
    public package(set) var absences = 0
    /// Batches of candidates.
    public package(set) var candidates = 0
    public package(set) var missed = 0
    /// Events for other systems.
    public package(set) var events = 0

    public init() {}

    public var total: Int { calls + parties + legs + pushes + descriptions + absences + candidates + missed + events }

    package static func += (counts: inout Self, more: Self) {
        counts.calls += more.calls
        counts.parties += more.parties
        counts.legs += more.legs
        counts.pushes += more.pushes
        counts.descriptions += more.descriptions
        counts.absences += more.absences
        counts.candidates += more.candidates
        counts.missed += more.missed
        counts.events += more.events
    }
}

/// Statistics of retention since the start of a ``RecordLog``.
public struct RetentionStatistics: Equatable, Sendable {
    /// Completed runs.
    public package(set) var runs: UInt64 = 0
    /// When the last run was completed.
    public package(set) var lastRunEnded: Instant?
    /// Whether a run is in progress.
    public package(set) var isRunning = false
    public package(set) var deleted = RetentionCounts()
    /// Transactions that deleted or read a few rows.
    public package(set) var slices: UInt64 = 0
    /// The most rows deleted in one slice.
    public package(set) var largestSlice = 0
    /// Durations of slices, including their syncs.
    public package(set) var latency = LatencyCounts()
    /// How often a slice yielded to waiting commits.
    public package(set) var yields: UInt64 = 0
    /// Failed slices; a failure abandons the run.
    public package(set) var failures: UInt64 = 0
    /// The creation time of the oldest call, as of the last run; nil before it, and without calls.
    public package(set) var oldestCall: Instant?

    public init() {}
}
