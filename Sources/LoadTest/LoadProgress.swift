/// How far a load test is. Told some times a second at most.
public struct LoadProgress: Sendable {
    public enum Phase: Equatable, Sendable {
        /// The server and what belongs to it start.
        case starting
        /// What has to be there before the load: sessions, standing calls.
        case opening(Int, of: Int)
        case ramp, warmUp, measuring
        /// Nothing new is begun; what is under way has its time to end.
        case draining
        /// The sessions of ``LoadPlan/Scenario/register`` are kept.
        case holding
        /// The server is stopped, and the books are checked.
        case auditing
    }

    public var phase: Phase
    /// Since the phase began; of the load's phases, since the load began.
    public var elapsed: Duration
    /// How long that takes; nil where it cannot be known.
    public var of: Duration?
    /// Operations completed a second, over the last second of this phase; nil until one of it is over.
    public var rate: Double?
    public var underWay = 0
    public var failures = FailureCounts()
    /// Of ``stage`` over the same second, over all threads, in microseconds; 0 when it did not occur.
    public var p99: UInt64 = 0
    /// The scenario's first; nil before the load.
    public var stage: LoadStage?

    public init(phase: Phase, elapsed: Duration, of: Duration? = nil) {
        self.phase = phase
        self.elapsed = elapsed
        self.of = of
    }
}
