/// A second of all threads.
struct MergedSecond {
    let end: ContinuousClock.Instant
    let isCounted: Bool
    private(set) var begun, completed, failed, underWay: Int
    private(set) var latencies: Latencies?
    /// CPU time of each thread until then.
    private(set) var cpu: [Int: Duration]

    init(_ second: Recorder.Second, of thread: Int) {
        end = second.end
        isCounted = second.isCounted
        begun = second.begun
        completed = second.completed
        failed = second.failed
        underWay = second.underWay
        latencies = second.latencies
        cpu = [thread: second.cpu]
    }

    mutating func add(_ second: Recorder.Second, of thread: Int) {
        begun += second.begun
        completed += second.completed
        failed += second.failed
        underWay += second.underWay
        cpu[thread] = second.cpu
        guard let theirs = second.latencies else { return }
        if latencies?.add(theirs) == nil { latencies = theirs }
    }
}
