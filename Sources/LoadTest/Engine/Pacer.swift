import EventLoop

/// Says when pieces begin. On its thread's loop.
protocol Pacer: AnyObject {
    /// - Parameter start: of the load; may lie in the future.
    func begin(start: ContinuousClock.Instant)
    /// A piece is over.
    func pieceOver(well: Bool)
    /// The last call: what was due before `end` is begun now, nothing later.
    func finish(end: ContinuousClock.Instant)
}

/// Begins a piece that was due; false when nobody was free for it.
typealias BeginPiece = (_ due: ContinuousClock.Instant, _ late: Duration?) -> Bool
