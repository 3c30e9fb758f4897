import Glibc

/// CPU time and metrics at one moment.
struct RunMoment: Sendable {
    let at: ContinuousClock.Instant
    /// As the kernel counts it; nil for what is not a process of this run.
    let server, simulator: ProcessUsage?
    /// This process, and all of the machine.
    let own: ProcessUsage?
    let machine: Duration?
    /// As the server counts it.
    let metrics: ServerMetrics?
    /// When its answer was there; under load that takes its time.
    var metricsAt: ContinuousClock.Instant?
    /// Time that the host of a virtual machine took.
    var stolen: Duration?

    static func take(_ server: LoadServer) async -> RunMoment {
        // The answer to the last question takes its time, in which the others would go on.
        let (at, usage, simulator) = (ContinuousClock.now, server.usage(), server.simulatorUsage())
        let (own, machine) = (try? ProcessUsage.of(getpid()), try? ProcessUsage.machine())
        let metrics = await server.metrics()
        return RunMoment(
            at: at, server: usage, simulator: simulator, own: own, machine: machine?.busy, metrics: metrics,
            metricsAt: metrics == nil ? nil : .now, stolen: machine?.stolen)
    }

    /// Whether the server was started anew until `end`; false where it has not said anything both times.
    func isRestarted(until end: RunMoment) -> Bool {
        metrics.flatMap { before in end.metrics?.isRestarted(since: before) } ?? false
    }

    /// What `figure` of the server's metrics has grown by until `end`, and over how many seconds; nil where it was not
    /// told both times, or by two processes.
    func growth(
        until end: RunMoment, of figure: (ServerMetrics) -> Double?
    ) -> (amount: Double, seconds: Double)? {
        guard let first = metrics.flatMap(figure), let last = end.metrics.flatMap(figure), let metricsAt,
            let endAt = end.metricsAt, metricsAt < endAt, !isRestarted(until: end)
        else { return nil }
        return (last - first, metricsAt.duration(to: endAt).inSeconds)
    }
}

/// CPU time between two moments by wall time, in cores; nil if unknown.
struct CoresUsed {
    private let elapsed: Double
    private let byMetrics: (amount: Double, seconds: Double)?
    let server, simulator, own, machine, stolen: Double?
    var serverByMetrics: Double? { byMetrics.map { $0.amount / $0.seconds } }

    init(_ start: RunMoment, _ end: RunMoment) {
        let elapsed = max(1e-6, start.at.duration(to: end.at).inSeconds)
        self.elapsed = elapsed
        func cores(_ from: Duration?, _ to: Duration?) -> Double? {
            guard let from, let to else { return nil }
            return (to - from).inSeconds / elapsed
        }
        server = cores(start.server?.cpu, end.server?.cpu)
        byMetrics = start.growth(until: end) { $0.cpu?.inSeconds }
        simulator = cores(start.simulator?.cpu, end.simulator?.cpu)
        own = cores(start.own?.cpu, end.own?.cpu)
        machine = cores(start.machine, end.machine)
        stolen = cores(start.stolen, end.stolen)
    }

    /// CPU time between the moments per operation, in microseconds.
    func microseconds(_ cores: Double?, each count: Int) -> Double? {
        guard let cores, count > 0 else { return nil }
        return cores * elapsed / Double(count) * 1e6
    }

    /// The same of the server's own count.
    func microsecondsByMetrics(each count: Int) -> Double? {
        guard let byMetrics, count > 0 else { return nil }
        return byMetrics.amount / Double(count) * 1e6
    }

    /// CPU use outside the run.
    /// - Parameter server: the server's use, from the kernel or from its metrics.
    func others(_ server: Double?) -> Double? {
        guard let machine, let own, let server else { return nil }
        return max(0, machine - own - server - (simulator ?? 0))
    }
}
