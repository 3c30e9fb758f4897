/// One kind of operation, on one phone thread. Made, used and released on that thread's loop.
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

    /// Begins an operation that was due at `due`, from where its latencies count.
    ///
    /// It ends with ``Recorder/completed()`` or ``Recorder/failed(_:)``, called after ``underWay`` has gone down.
    /// - Returns: false if no phone is free. The engine counts it as not begun.
    func begin(due: ContinuousClock.Instant) -> Bool

    /// Operations under way. The engine waits for 0 at the end, with a limit.
    var underWay: Int { get }

    /// Whether there is nothing more to begin: the measured part ends when the last operation is over.
    var isExhausted: Bool { get }

    /// Its own figures, summed over the threads by key. After the last operation.
    var figures: [Figure] { get }

    /// The run was interrupted: hangs up held calls, and holds no more.
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
