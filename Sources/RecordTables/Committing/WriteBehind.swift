/// When batches are written to the journal first, and how long they may wait there to be applied to the tables.
///
/// Under load a call changes several times before it is written to the tables once, and calls share the pages written.
/// Without load the tables are written at once, and readers see every acknowledged record.
public struct WriteBehind: Sendable {
    /// Records per second that are written to the tables at once; a higher rate is load.
    public var recordsPerSecond = 2_000.0
    /// Records beyond that rate that do not count as load yet.
    public var burst = 500.0
    /// The age at which journal entries are applied to the tables.
    public var delay = Duration.milliseconds(500)
    /// The number of records applied in one transaction, approximate; at least those of one commit. More records share more
    /// pages: this is nearly everything that arrives in ``delay``. A flush waits for the transaction, and so does the
    /// first commit after a load.
    public var records = 32_768
    /// The most records in the journal alone; beyond, the oldest are applied before the next commit.
    public var limit = 131_072
    /// The age at which journal entries are applied together with the next commit, because the tables' thread has had
    /// no core.
    public var longest = Duration.seconds(3)

    public init() {}

    package init(recordsPerSecond: Double, burst: Double) {
        self.recordsPerSecond = recordsPerSecond
        self.burst = burst
    }

    /// Never uses the journal: readers see every acknowledged record at once.
    public static let never = WriteBehind(recordsPerSecond: .infinity, burst: .infinity)
    /// Always writes to the journal first.
    package static let always = WriteBehind(recordsPerSecond: 0, burst: -1)
}

/// Detects load by the rate of records.
package struct LoadGauge {
    private let policy: WriteBehind
    /// Records beyond the rate, at most twice the burst.
    private var excess = 0.0
    private var last: ContinuousClock.Instant?

    package init(_ policy: WriteBehind) { self.policy = policy }

    /// Whether there is load, with the `records` that arrived at `now`.
    package mutating func isLoad(_ records: Int, at now: ContinuousClock.Instant) -> Bool {
        let elapsed = last.map { $0.duration(to: now) / .seconds(1) } ?? 0
        last = now
        guard policy.recordsPerSecond.isFinite else { return false }
        excess = max(0, excess - elapsed * policy.recordsPerSecond) + Double(records)
        excess = min(excess, max(policy.burst * 2, policy.burst + 1))
        return excess > policy.burst
    }
}
