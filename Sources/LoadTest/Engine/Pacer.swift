import EventLoop

/// Decides when operations begin. On its thread's loop.
protocol Pacer: AnyObject {
    /// - Parameter start: of the load; may lie in the future.
    func begin(start: ContinuousClock.Instant)
    /// An operation is over.
    func operationOver(well: Bool)
    /// The last call: begins what was due before `end`.
    func finish(end: ContinuousClock.Instant)
}

/// Begins an operation that was due; false if no phone was free.
typealias BeginOperation = (_ due: ContinuousClock.Instant, _ late: Duration?) -> Bool
