/// A second of all threads.
struct MergedSecond {
    let end: ContinuousClock.Instant
    let isCounted: Bool
    private(set) var begun = 0, completed = 0, failed = 0
    var underWay: Int { underWayOfThread.values.reduce(0, +) }
    /// Until it is reduced to what is told of it.
    private(set) var latencies: Latencies?
    private var reduced: (p50: UInt64, p99: UInt64) = (0, 0)
    /// Of each thread, until then.
    private(set) var time: [Int: ThreadTime] = [:]
    /// At its end, which a thread may have told before it was known where that is.
    private var underWayOfThread: [Int: Int] = [:]

    init(end: ContinuousClock.Instant, isCounted: Bool) {
        self.end = end
        self.isCounted = isCounted
    }

    mutating func add(_ second: Recorder.Second, of thread: Int) {
        begun += second.begun
        completed += second.completed
        failed += second.failed
        underWayOfThread[thread] = second.underWay
        time[thread] = second.time
        guard let theirs = second.latencies else { return }
        if latencies?.add(theirs) == nil { latencies = theirs }
    }

    /// Threads that it is known of.
    var threads: Int { time.count }

    /// Of the first stage, in microseconds; 0 when it did not occur.
    var p50: UInt64 { latencies?.percentile(50) ?? reduced.p50 }
    var p99: UInt64 { latencies?.percentile(99) ?? reduced.p99 }

    /// Keeps of the distribution only what is told of it. Once all threads are in it.
    mutating func reduce() {
        reduced = (p50, p99)
        latencies = nil
    }
}
