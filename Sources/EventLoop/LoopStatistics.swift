/// The durations of a loop's turns since its start. A turn ends when the loop waits for the next event, timer or job.
///
/// Events that arrive during a turn wait in the kernel until it ends, and are not counted. A snapshot: its parts may be
/// one turn apart.
public struct LoopStatistics: Sendable, Equatable {
    /// The upper bounds of the buckets of ``turns``, inclusive. The last bucket counts all longer turns.
    public static let bounds: [Duration] = [1, 5, 25, 100, 500].map { .milliseconds($0) }

    /// The total duration of all turns.
    public var busy: Duration
    public var turns: [UInt64]
}
