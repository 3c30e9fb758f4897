import CallVocabulary

/// The rows deleted by retention, by table.
public struct RetentionCounts: Equatable, Sendable {
    public internal(set) var calls = 0
    /// History entries of users.
    public internal(set) var parties = 0
    public internal(set) var legs = 0
    public internal(set) var pushes = 0
    public internal(set) var descriptions = 0
    public internal(set) var absences = 0
    /// Batches of candidates.
    public internal(set) var candidates = 0
    public internal(set) var missed = 0

    public init() {}

    public var total: Int { calls + parties + legs + pushes + descriptions + absences + candidates + missed }

    static func += (counts: inout Self, more: Self) {
        counts.calls += more.calls
        counts.parties += more.parties
        counts.legs += more.legs
        counts.pushes += more.pushes
        counts.descriptions += more.descriptions
        counts.absences += more.absences
        counts.candidates += more.candidates
        counts.missed += more.missed
    }
}

/// Statistics of retention since the start of a ``GroupCommitter``.
public struct RetentionStatistics: Equatable, Sendable {
    /// Completed runs.
    public internal(set) var runs: UInt64 = 0
    /// When the last run was completed.
    public internal(set) var lastRunEnded: Instant?
    /// Whether a run is in progress.
    public internal(set) var isRunning = false
    public internal(set) var deleted = RetentionCounts()
    /// Transactions that deleted or read a few rows.
    public internal(set) var slices: UInt64 = 0
    /// The most rows deleted in one slice.
    public internal(set) var largestSlice = 0
    /// Durations of slices, including their syncs.
    public internal(set) var latency = LatencyCounts()
    /// How often a slice yielded to waiting commits.
    public internal(set) var yields: UInt64 = 0
    /// Failed slices; a failure abandons the run.
    public internal(set) var failures: UInt64 = 0
    /// The creation time of the oldest call, as of the last run; nil before it, and without calls.
    public internal(set) var oldestCall: Instant?

    public init() {}
}
