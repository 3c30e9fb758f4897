/// One kind of work, on one thread of phones. Made, used and released on that thread's loop.
///
/// ```
/// prepare ─▶ begin … begin ─▶ (no more, until nothing is under way) ─▶ close
/// ```
protocol Workload: AnyObject {
    /// The stages it times; the first is the one that the progress and the series show.
    var stages: [LoadStage] { get }

    /// Opens what is there before the load. Calls `completion` once, on the loop.
    ///
    /// A failure ends the whole run: what is to be measured could not be set up.
    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void)

    /// Begins a piece of work that was due at `due`; the times that count from its start count from there.
    ///
    /// The piece ends with ``Recorder/completed()`` or ``Recorder/failed(_:)``, told once ``underWay`` has gone down.
    /// - Returns: false when nobody is free for it. The engine counts it as not begun.
    func begin(due: ContinuousClock.Instant) -> Bool

    /// Pieces under way. The engine waits for 0 at the end, with a limit.
    var underWay: Int { get }

    /// Whether there is nothing more to begin: the part that counts ends when the last piece is over.
    var isExhausted: Bool { get }

    /// What it counted besides calls, for the report; summed over the threads by key. After the last piece.
    var figures: [Figure] { get }

    /// The run is to end before its time: ends at once what is held, and holds nothing any more.
    func endHeld()

    /// Drops all connections; nothing is told to the recorder after it. Also while ``prepare(_:)`` is under way, whose
    /// completion need not be called then.
    func close()
}

extension Workload {
    var isExhausted: Bool { false }
    var figures: [Figure] { [] }
    func endHeld() {}
}
