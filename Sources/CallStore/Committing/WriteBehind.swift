/// When batches are written into the journal first, and how long they may stay there alone.
///
/// Under load a call changes several times before it is written into the tables at last, once, and many calls share the
/// pages that are written. Otherwise the tables are written at once, and readers see what is acknowledged.
public struct WriteBehind: Sendable {
    /// Records that are written into the tables at once as they come, in a second. More than that is load.
    public var recordsPerSecond = 2_000.0
    /// Records beyond that rate which are not taken for load yet.
    public var burst = 500.0
    /// What is older is brought into the tables.
    public var delay = Duration.milliseconds(250)
    /// About how many records are brought into the tables in one transaction, for which commits wait; those of one commit
    /// at least.
    ///
    /// Where commits are large it is n²/16 for commits of n records: 256 for 64, 2,048 for 181. What is written together shares
    /// pages, and those who wait for commits of that size wait for longer anyway.
    public var records = 64
    /// The most that ``records`` grows to where commits are large, in records. One commit that has more is brought in whole.
    public var mostRecords = 2048
    /// With more records than this in the journal alone, the oldest are brought into the tables before anything more is
    /// committed.
    public var limit = 32_768

    public init() {}

    init(recordsPerSecond: Double, burst: Double) {
        self.recordsPerSecond = recordsPerSecond
        self.burst = burst
    }

    /// Readers see what is acknowledged at any time.
    public static let never = WriteBehind(recordsPerSecond: .infinity, burst: .infinity)
    /// All is load.
    package static let always = WriteBehind(recordsPerSecond: 0, burst: -1)
}

/// How many records are brought into the tables at once.
struct SliceSize {
    private let policy: WriteBehind
    /// Of the last few commits, in records: a mean in which each counts an eighth.
    private var usualCommit = 0.0

    init(_ policy: WriteBehind) { self.policy = policy }

    mutating func note(commitOf records: Int) { usualCommit += (Double(records) - usualCommit) / 8 }

    var records: Int { max(policy.records, min(policy.mostRecords, Int(usualCommit * usualCommit / 16))) }
}

/// Tells load from the rate of records.
struct LoadGauge {
    private let policy: WriteBehind
    /// Records that have come beyond the rate, at most twice the burst.
    private var excess = 0.0
    private var last: ContinuousClock.Instant?

    init(_ policy: WriteBehind) { self.policy = policy }

    /// Whether there is load, `records` included that came at `now`.
    mutating func isLoad(_ records: Int, at now: ContinuousClock.Instant) -> Bool {
        let elapsed = last.map { $0.duration(to: now) / .seconds(1) } ?? 0
        last = now
        guard policy.recordsPerSecond.isFinite else { return false }
        excess = max(0, excess - elapsed * policy.recordsPerSecond) + Double(records)
        excess = min(excess, max(policy.burst * 2, policy.burst + 1))
        return excess > policy.burst
    }
}
