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
    public var delay = Duration.milliseconds(500)
    /// About how many records are brought into the tables in one transaction; those of one commit at least. The more there
    /// are, the more of them share pages: it is nearly all that comes in ``delay``. Who wants to see all that is durable waits
    /// for them, and so does the first commit after a load.
    public var records = 32_768
    /// With more records than this given in commits that are in the journal alone, the oldest are brought into the tables
    /// before anything more is committed.
    public var limit = 131_072
    /// What is older is brought into the tables beside the next commit, not in its own time: the thread that does that has
    /// had no core.
    public var longest = Duration.seconds(3)

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
