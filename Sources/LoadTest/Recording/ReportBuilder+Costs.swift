import Glibc

/// What the load cost the server, and what it cost to make it.
extension ReportBuilder {
    private func microsecondsEach(_ cores: Double?) -> Double? {
        self.cores?.microseconds(cores, each: all.completed)
    }

    /// A figure, where its value is known.
    private func figure(
        _ key: String, _ group: Figure.Group, _ value: Double?, _ unit: Figure.Unit, _ definition: String
    ) -> [Figure] {
        value.map { [Figure(key, group, $0, unit, definition)] } ?? []
    }

    var serverFigures: [Figure] {
        let (kernel, itself) = (cores?.server, cores?.serverByMetrics)
        let (start, end) = (outcome.ready?.metrics, outcome.over?.metrics)
        func grown(_ key: String) -> Double? { start?[key].flatMap { before in end?[key].map { $0 - before } } }
        return figure(
            "server_cores", .server, kernel, .cores,
            "CPU time of the server's process by time, as the kernel counts it; 1 is one core")
            + figure(
                "server_cpu_per_piece", .server, microsecondsEach(kernel), .microseconds,
                "CPU time of the server's process for each \(plan.piece) completed, as the kernel counts it")
            + figure(
                "server_cores_by_metrics", .server, itself, .cores,
                "CPU time of the server by time, by its own process_cpu_seconds_total")
            + figure(
                "server_cpu_per_piece_by_metrics", .server, microsecondsEach(itself), .microseconds,
                "CPU time of the server for each \(plan.piece) completed, by its own process_cpu_seconds_total")
            + figure(
                "server_calls", .server, grown("reveille_calls_invited_total"), .count,
                "calls the server took in, all of the run, by its own count")
            + figure(
                "server_resumed", .server, grown("reveille_sessions_resumed_total"), .count,
                "sessions the server resumed, all of the run, by its own count")
    }

    var memoryFigures: [Figure] {
        let sessions = Double(plan.scenario == .register ? all.completedInAll : outcome.sessionsOpened)
        let loaded = plan.scenario == .register ? outcome.over : outcome.opened
        var figures: [Figure] = [Figure("sessions", .work, sessions, .count, "sessions that were open")]
        func memory(_ moment: RunMoment?) -> Double? {
            moment.flatMap { $0.server.map { Double($0.residentBytes) } ?? $0.metrics?.residentBytes }
        }
        figures += figure(
            "server_memory_before", .server, memory(outcome.ready), .bytes, "resident before the first session")
        figures += figure(
            "server_memory_open", .server, memory(loaded), .bytes,
            plan.scenario == .register
                ? "resident with all sessions open, after the hold" : "resident with all sessions open, before the load"
        )
        figures += figure(
            "server_memory_after", .server, memory(outcome.over), .bytes, "resident after the load, sessions still open"
        )
        // Phones that sleep have sessions only now and then.
        if !plan.needsPushes, sessions > 0, let before = memory(outcome.ready), let open = memory(loaded) {
            figures += figure(
                "server_memory_per_session", .server, (open - before) / sessions, .bytes,
                "growth of resident memory for each session opened")
        }
        return figures
    }

    var generatorFigures: [Figure] {
        var figures = figure(
            "own_cores", .generator, cores?.own, .cores,
            "CPU time of the load generator's process by time; 1 is one core")
        figures += figure(
            "own_cpu_per_piece", .generator, microsecondsEach(cores?.own), .microseconds,
            "CPU time of the load generator's process for each \(plan.piece) completed")
        for (thread, share) in threadShares.enumerated() {
            figures += figure(
                "own_thread_\(thread)_cores", .generator, share, .cores,
                "CPU time of thread \(thread) of phones by time; at 1 it can do no more")
        }
        if case .open = plan.pace {
            let late = "from when a \(plan.piece) was due to when it was begun"
            for (key, value) in [
                ("lateness_p50", all.lateness.percentile(50)), ("lateness_p99", all.lateness.percentile(99)),
                ("lateness_max", all.lateness.percentile(100)),
            ] {
                figures.append(Figure(key, .generator, Double(value), .microseconds, late))
            }
        }
        figures += figure(
            "simulator_cores", .generator, cores?.simulator, .cores, "CPU time of the push simulator by time")
        figures += figure(
            "other_cores", .generator, cores?.others, .cores,
            "CPU time by time of processes that have no part in the run")
        figures.append(
            Figure("machine_cores", .generator, Double(Self.processors), .cores, "what this machine has"))
        return figures
    }

    static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// By thread of phones: its CPU time by time, in the part that counts.
    var threadShares: [Double] {
        guard let schedule = outcome.schedule, measured > 0,
            let first = outcome.seconds.last(where: { $0.end <= schedule.warmUpEnd }),
            let last = outcome.seconds.last(where: { $0.end <= schedule.end })
        else { return [] }
        return outcome.threads.indices.map { thread in
            guard let from = first.cpu[thread], let to = last.cpu[thread] else { return 0 }
            return (to - from).inSeconds / measured
        }
    }
}
