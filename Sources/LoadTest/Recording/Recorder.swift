/// The recordings of one phone thread. Confined to that thread's loop; its ``Result`` is merged with the others'.
///
/// A latency counts if its *start* lies in the measured part, so that a slow end is not lost. Completions count by
/// their own moment, failures always. The seconds of the measured part add up to it: what is begun or completed
/// counts where its second does.
final class Recorder {
    /// What a second came to.
    struct Second: Sendable {
        let end: ContinuousClock.Instant
        let isCounted: Bool
        var begun = 0
        var completed = 0
        var failed = 0
        var underWay = 0
        /// Of the first stage.
        var latencies: Latencies?
        /// Of the thread, until now.
        var time = ThreadTime()

        /// Takes what happened in `other` as its own.
        mutating func add(_ other: Second) {
            begun += other.begun
            completed += other.completed
            failed += other.failed
            guard let theirs = other.latencies else { return }
            if latencies?.add(theirs) == nil { latencies = theirs }
        }
    }

    /// What a thread came to.
    struct Result: Sendable {
        var stages: [LoadStage: Latencies] = [:]
        /// From the moment an operation was due to the moment it was begun, in an open loop.
        var lateness = Latencies()
        /// From the moment something was due on the thread's loop to the moment it ran.
        var lag = Latencies()
        /// Operations due in the measured part and begun.
        var begun = 0
        /// Operations completed in the measured part.
        var completed = 0
        /// Operations completed at any time.
        var completedInAll = 0
        /// What failed, at any time.
        var failureCounts = FailureCounts()
        /// How often no phone was free for the next operation of a closed loop.
        var refused = 0
        /// Operations under way when a run ended before its time.
        var cutShort = 0
        /// Operations under way in the measured part, on average.
        var underWayMean = 0.0
        var failures: [String: Int] = [:]

        mutating func add(_ other: Result) {
            for (stage, latencies) in other.stages {
                if stages[stage]?.add(latencies) == nil { stages[stage] = latencies }
            }
            lateness.add(other.lateness)
            lag.add(other.lag)
            begun += other.begun
            completed += other.completed
            completedInAll += other.completedInAll
            failureCounts.add(other.failureCounts)
            refused += other.refused
            cutShort += other.cutShort
            underWayMean += other.underWayMean
            failures.merge(other.failures) { $0 + $1 }
        }
    }

    /// The failure of operations that were due and not begun.
    static let nobodyFree = "not begun: no phone of the load was free (more --places, or a lower --rate)"

    private(set) var result = Result()
    /// Set when the load begins; before that nothing but failures is kept.
    var schedule: LoadSchedule?
    /// The stage whose times go into each second.
    var firstStage: LoadStage?
    /// Called when an operation is over.
    var onOperationOver: (_ well: Bool) -> Void = { _ in }
    private var seconds: [Second] = []
    /// Those that are not closed, in order: the thread may come late to the end of one, and what happens after that end
    /// belongs to the next.
    private var open: [Second] = []
    /// The end of the last that is closed; nil before the load.
    private var closedUntil: ContinuousClock.Instant?
    /// Operations completed at any time.
    private(set) var completions = 0
    /// The recorder that everything goes to, failures with the name of the part.
    private let whole: (recorder: Recorder, part: String)?

    init() { whole = nil }

    /// A recorder for one of several kinds of work on a thread, which only counts its completions by itself.
    init(part: String, of whole: Recorder) { self.whole = (whole, part) }

    /// Whether what began at `instant` counts.
    func counts(_ instant: ContinuousClock.Instant) -> Bool {
        whole?.recorder.counts(instant) ?? (schedule?.counts(instant) == true)
    }

    // MARK: From the workload

    /// A step that began at `start` is done.
    func passed(_ stage: LoadStage, since start: ContinuousClock.Instant, at now: ContinuousClock.Instant = .now) {
        if let whole { return whole.recorder.passed(stage, since: start, at: now) }
        let isCounted = schedule?.counts(start) == true
        guard isCounted || stage == firstStage else { return }
        let time = start.duration(to: now).microseconds
        if isCounted {
            result.stages[stage, default: Latencies()].record(microseconds: time)
        }
        if stage == firstStage, let second = second(of: now) {
            if open[second].latencies == nil { open[second].latencies = Latencies() }
            open[second].latencies?.record(microseconds: time)
        }
    }

    /// An operation succeeded.
    func completed(at now: ContinuousClock.Instant = .now) {
        completions += 1
        if let whole { return whole.recorder.completed(at: now) }
        result.completedInAll += 1
        if let second = second(of: now) {
            open[second].completed += 1
            if open[second].isCounted { result.completed += 1 }
        }
        onOperationOver(true)
    }

    /// An operation failed.
    func failed(_ reason: String) {
        if let whole { return whole.recorder.failed("\(whole.part): \(reason)") }
        add(reason, to: \.failed)
        onOperationOver(false)
    }

    /// An unintended loss of a session.
    func sessionLost(_ reason: String) { add(Self.lossPrefix + reason, to: \.sessionsLost) }

    /// The begin of the reasons of lost sessions.
    static let lossPrefix = "session lost: "

    /// A failure of neither an operation nor a session.
    func fault(_ reason: String, count: Int = 1) { add(reason, count, to: \.others) }

    private func add(_ reason: String, _ count: Int = 1, to kind: WritableKeyPath<FailureCounts, Int>) {
        if let whole { return whole.recorder.add("\(whole.part): \(reason)", count, to: kind) }
        result.failureCounts[keyPath: kind] += count
        result.failures[FailureReason.common(reason), default: 0] += count
        if let second = second(of: .now) { open[second].failed += count }
    }

    // MARK: From the engine

    /// An operation that was due at `due` is begun; `late` is nil where nothing was due by the clock.
    func begun(due: ContinuousClock.Instant, late: Duration?) {
        guard let second = second(of: due) else { return }
        open[second].begun += 1
        guard open[second].isCounted else { return }
        result.begun += 1
        if let late { result.lateness.record(late) }
    }

    /// No phone was free for an operation that was due.
    func notBegun() { add(Self.nobodyFree, to: \.notBegun) }

    /// Counts operations that did not end, with the reason.
    func notOver(_ reason: String, count: Int) { add(reason, count, to: \.notOver) }

    /// No phone was free for the next operation of a closed loop.
    func refused() { result.refused += 1 }

    /// Counts operations that were under way when the run was interrupted.
    func cutShort(_ count: Int) { result.cutShort += count }

    /// What was due on the loop at `due` ran `lag` later.
    func lagged(_ lag: Duration, due: ContinuousClock.Instant) {
        if schedule?.counts(due) == true { result.lag.record(lag) }
    }

    /// What `occupancy` has found.
    func note(_ occupancy: Occupancy) { result.underWayMean = occupancy.mean }

    /// Ends the second that ends at `end`, and those before it. The end of the load may come before that of its second.
    func closeSecond(at end: ContinuousClock.Instant, underWay: Int, time: ThreadTime) {
        let isLast = schedule.map { end >= $0.end } ?? true
        var second = Second(end: end, isCounted: schedule.map { end > $0.warmUpEnd && end <= $0.end } ?? false)
        func close(_ second: Second) {
            var second = second
            (second.underWay, second.time) = (underWay, time)
            seconds.append(second)
        }
        while let first = open.first, first.end <= end || isLast {
            open.removeFirst()
            if first.end < end { close(first) } else { second.add(first) }
        }
        close(second)
        closedUntil = end
    }

    /// The place in ``open`` of the second that `instant` lies in, or of the first if that one is closed already; nil
    /// outside of the load, and where that would make something count that does not.
    private func second(of instant: ContinuousClock.Instant) -> Int? {
        guard let schedule, instant >= schedule.start, instant < schedule.end else { return nil }
        var last = open.last?.end ?? closedUntil ?? schedule.start
        while open.isEmpty || last <= instant {
            guard let next = schedule.nextTick(after: last) else { return nil }
            open.append(Second(end: next, isCounted: next > schedule.warmUpEnd))
            last = next
        }
        return open.firstIndex { instant < $0.end && $0.isCounted == schedule.counts(instant) }
    }

    /// The seconds closed since the last call.
    func takeSeconds() -> [Second] {
        defer { seconds = [] }
        return seconds
    }
}

@available(*, unavailable)
extension Recorder: Sendable {}
