/// One second of all threads.
struct MergedSecond {
    let end: ContinuousClock.Instant
    let isCounted: Bool
    private(set) var begun = 0, completed = 0, failed = 0
    var underWay: Int { underWayOfThread.values.reduce(0, +) }
    /// Until ``reduce()``.
    private(set) var latencies: Latencies?
    private var reduced: (p50: UInt64, p99: UInt64) = (0, 0)
    /// CPU time of each thread so far.
    private(set) var time: [Int: ThreadTime] = [:]
    /// At its end. A thread may report an end again if the load was cut.
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

    /// Threads that have reported it.
    var threads: Int { time.count }

    /// Of the first stage, in microseconds; 0 without samples.
    var p50: UInt64 { latencies?.percentile(50) ?? reduced.p50 }
    var p99: UInt64 { latencies?.percentile(99) ?? reduced.p99 }

    /// Keeps only the percentiles of the distribution, once all threads have reported.
    mutating func reduce() {
        reduced = (p50, p99)
        latencies = nil
    }
}
