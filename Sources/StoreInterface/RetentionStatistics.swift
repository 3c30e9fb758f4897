import CallVocabulary

/// The rows deleted by retention, by table.
public struct RetentionCounts: Equatable, Sendable {
    public package(set) var calls = 0
    /// Entries of calls in the histories of users.
    public package(set) var parties = 0
    public package(set) var legs = 0
    public package(set) var pushes = 0
    public package(set) var descriptions = 0
    public package(set) var absences = 0
    /// Batches of candidates.
    public package(set) var candidates = 0
    public package(set) var missed = 0

    public init() {}

    public var total: Int { calls + parties + legs + pushes + descriptions + absences + candidates + missed }

    package static func += (counts: inout Self, more: Self) {
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

/// What retention has done since the start of a ``RecordLog``.
public struct RetentionStatistics: Equatable, Sendable {
    /// Runs that came to their end.
    public package(set) var runs: UInt64 = 0
    /// When the last of them came to its end.
    public package(set) var lastRunEnded: Instant?
    /// A run has begun and is not over.
    public package(set) var isRunning = false
    public package(set) var deleted = RetentionCounts()
    /// Transactions that deleted, or only looked at, a few rows.
    public package(set) var slices: UInt64 = 0
    /// The most rows deleted in one of them.
    public package(set) var largestSlice = 0
    /// How long slices took, their syncs included.
    public package(set) var latency = LatencyCounts()
    /// How often a slice waited because commits did.
    public package(set) var yields: UInt64 = 0
    /// Slices that failed; the run is then given up until the next one.
    public package(set) var failures: UInt64 = 0
    /// When the oldest call that the store has was created, as of the last run; nil before it, and without calls.
    public package(set) var oldestCall: Instant?

    public init() {}
}
