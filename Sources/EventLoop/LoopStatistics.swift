/// What the turns of a loop took since its start. A turn ends when the loop waits for the next event, timer or job.
///
/// What happens meanwhile waits for as long as the turn under way, in the kernel, where nothing counts it. A snapshot:
/// the parts may be a turn apart.
public struct LoopStatistics: Sendable, Equatable {
    /// Bucket `i` of ``turns`` counts those that took up to `bounds[i]` and more than the bound before; the last one
    /// all that took longer.
    public static let bounds: [Duration] = [1, 5, 25, 100, 500].map { .milliseconds($0) }

    /// How long all turns together took.
    public var busy: Duration
    public var turns: [UInt64]
}
