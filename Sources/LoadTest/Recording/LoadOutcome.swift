import CallStore
import StoreInterface

/// The results of a run, as they arrive. Confined to the run's task.
struct LoadOutcome {
    let plan: LoadPlan
    /// nil until the load begins; cut where it ended.
    var schedule: LoadSchedule?
    /// The run was interrupted.
    var wasStopped = false
    /// The local ports of this machine; nil if unknown.
    var localPorts: Int?
    /// Of the data of the run's own server.
    var fileSystem: FileSystem?
    /// How long the run's own server took to start.
    var serverStart: Duration?
    /// The kills of the home, of a run that kills it.
    var kills: RunRealm.Kills?
    /// No phone could reach the server any more, which ended the run early.
    var lostServer = false
    /// The server is ready, the sessions are open, the measured part begins and ends, all is over.
    var ready, opened, began, ended, over: RunMoment?
    /// The most operations under way at once in the measured part.
    var underWayMost = 0
    /// Sessions that were opened before the load.
    var sessionsOpened = 0
    /// The server's use at each tick of the schedule.
    private(set) var ticks: [(planned: ContinuousClock.Instant, at: ContinuousClock.Instant, server: ProcessUsage)] = []
    /// By their end: the threads' seconds, merged.
    private(set) var seconds: [MergedSecond] = []
    private(set) var threads: [ThreadResult] = []

    init(_ plan: LoadPlan) { self.plan = plan }

    /// - Parameter planned: the moment at which this was to be taken; it may be later.
    mutating func take(
        _ planned: ContinuousClock.Instant, _ server: ProcessUsage?, at now: ContinuousClock.Instant = .now
    ) {
        if let server { ticks.append((planned, now, server)) }
    }

    mutating func add(seconds: [[Recorder.Second]]) {
        for (thread, list) in seconds.enumerated() {
            for second in list { add(second, of: thread) }
        }
    }

    private mutating func add(_ second: Recorder.Second, of thread: Int) {
        // A thread may have closed a second before it was known that the load had ended within it.
        let end = min(second.end, schedule?.end ?? second.end)
        // Threads are told of one schedule, so their seconds end alike; the one looked for is among the last.
        let index = seconds.lastIndex { $0.end == end } ?? seconds.endIndex
        if index == seconds.endIndex { seconds.append(MergedSecond(end: end, isCounted: second.isCounted)) }
        seconds[index].add(second, of: thread)
        // A distribution is 70 kB, and a run may last a day. To the last second something may come yet.
        if seconds[index].threads == plan.threads, end != schedule?.end { seconds[index].reduce() }
    }

    mutating func add(_ results: [ThreadResult]) {
        add(seconds: results.map(\.seconds))
        threads = results
    }

    /// All threads together.
    var recorded: Recorder.Result {
        var all = Recorder.Result()
        for thread in threads { all.add(thread.recorded) }
        return all
    }

    /// Whether the metrics show a restart of the server during the run.
    var wasServerRestarted: Bool {
        let told = [ready, opened, began, ended, over].compactMap { $0 }.filter { $0.metrics != nil }
        return zip(told, told.dropFirst()).contains { $0.isRestarted(until: $1) }
    }

    func progress(at now: ContinuousClock.Instant = .now, failures: FailureCounts) -> LoadProgress {
        guard let schedule else { return LoadProgress(phase: .starting, elapsed: .zero) }
        var progress = LoadProgress(
            phase: schedule.phase(at: now), elapsed: schedule.start.duration(to: now),
            of: plan.scenario == .register ? nil : plan.loadTime)
        progress.failures = failures
        progress.stage = plan.firstStage
        guard let last = seconds.last else { return progress }
        progress.underWay = last.underWay
        // A second of the previous phase does not count.
        let before = seconds.dropLast().last?.end ?? schedule.start
        guard schedule.phase(at: before) == progress.phase else { return progress }
        progress.rate = Double(last.completed) / max(0.001, before.duration(to: last.end).inSeconds)
        progress.p99 = last.p99
        return progress
    }
}
