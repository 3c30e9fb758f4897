/// What the load cost the server, and what it cost to make it.
extension ReportBuilder {
    private func microsecondsEach(_ cores: Double?) -> Double? {
        self.cores?.microseconds(cores, each: all.completed)
    }

    var serverFigures: [Figure] {
        let (kernel, itself) = (cores?.server, cores?.serverByMetrics)
        func grown(_ key: String) -> Double? {
            outcome.ready.flatMap { ready in outcome.over.flatMap { ready.growth(until: $0) { $0[key] }?.amount } }
        }
        typealias Server = LoadFigure.Server
        return Server.cores.figures(kernel) + Server.cpuPerPiece.figures(microsecondsEach(kernel))
            + Server.coresByMetrics.figures(itself)
            + Server.cpuPerPieceByMetrics.figures(cores?.microsecondsByMetrics(each: all.completed))
            + Server.calls.figures(grown("reveille_calls_invited_total"))
            + Server.resumed.figures(grown("reveille_sessions_resumed_total"))
            + homeFigures
    }

    private var homeFigures: [Figure] {
        guard let gaps = outcome.kills?.gaps.sorted() else { return [] }
        typealias Server = LoadFigure.Server
        return [Server.homeKills.figure(gaps.count)]
            + Server.homeGapMedian.figures(gaps.isEmpty ? nil : gaps[gaps.count / 2].inSeconds)
            + Server.homeGapMax.figures(gaps.last?.inSeconds)
    }

    var memoryFigures: [Figure] {
        let sessions = Double(plan.scenario == .register ? all.completedInAll : outcome.sessionsOpened)
        let loaded = plan.scenario == .register ? outcome.over : outcome.opened
        func resident(_ moment: RunMoment?) -> Double? { moment?.server.map { Double($0.residentBytes) } }
        func itself(_ moment: RunMoment?) -> Double? { moment?.metrics?.residentBytes }
        func memory(_ moment: RunMoment?) -> Double? { resident(moment) ?? itself(moment) }
        func each(_ memory: (RunMoment?) -> Double?) -> Double? {
            guard opensSessionsOnly, Int(sessions) >= LoadFigure.Server.fewestSessions,
                let before = memory(outcome.ready), let open = memory(loaded), !wasRestarted(until: loaded)
            else { return nil }
            return (open - before) / sessions
        }
        typealias Server = LoadFigure.Server
        return [LoadFigure.Work.sessions.figure(sessions)] + Server.start.figures(outcome.serverStart?.inSeconds)
            + Server.memoryBefore.figures(memory(outcome.ready))
            + Server.memoryOpen.figures(memory(loaded)) + Server.memoryAfter.figures(memory(outcome.over))
            + Server.memoryPerSession.figures(each(memory)) + Server.memoryPerSessionByMetrics.figures(each(itself))
    }

    private func wasRestarted(until end: RunMoment?) -> Bool {
        end.flatMap { outcome.ready?.isRestarted(until: $0) } ?? false
    }

    /// Whether nothing but sessions is there before the load: no calls that stand, no groups. Phones that sleep have
    /// sessions only now and then.
    private var opensSessionsOnly: Bool {
        guard !plan.needsPushes, plan.standing == 0 else { return false }
        return switch plan.scenario {
        case .register, .online, .wake: true
        case .fanout: plan.fanOutKind == .devices
        case .relay, .churn, .mixed: false
        }
    }

    var generatorFigures: [Figure] {
        typealias Generator = LoadFigure.Generator
        var figures =
            Generator.ownCores.figures(cores?.own)
            + Generator.ownCpuPerPiece.figures(microsecondsEach(cores?.own))
        for (thread, share) in threadShares.enumerated() {
            figures.append(Generator.ownThreadNCores.figure(share.busy, of: "\(thread)"))
            figures += share.waiting.map { [Generator.ownThreadNWaiting.figure($0, of: "\(thread)")] } ?? []
        }
        if case .open = plan.pace {
            let late = all.lateness
            figures += [
                Generator.latenessP50.figure(Double(late.percentile(50))),
                Generator.latenessP99.figure(Double(late.percentile(99))),
                Generator.latenessMax.figure(Double(late.percentile(100))),
            ]
        }
        figures += [
            Generator.loopLagP50.figure(Double(all.lag.percentile(50))),
            Generator.loopLagP99.figure(Double(all.lag.percentile(99))),
            Generator.loopLagMax.figure(Double(all.lag.percentile(100))),
        ]
        figures += Generator.simulatorCores.figures(cores?.simulator) + Generator.otherCores.figures(otherCores)
        figures += Generator.stolenCores.figures(cores?.stolen)
        return figures + [Generator.machineCores.figure(LoadEnvironment.usableCores)]
    }

    /// CPU use outside the run. A target with metrics is assumed on this machine; its push simulator has none.
    var otherCores: Double? {
        cores?.others(cores?.server) ?? (plan.needsPushes ? nil : cores?.others(cores?.serverByMetrics))
    }

    /// By phone thread: CPU time and wait for a core in the measured part, by wall time.
    var threadShares: [(busy: Double, waiting: Double?)] {
        guard let schedule = outcome.schedule, measured > 0,
            let first = outcome.seconds.last(where: { $0.end <= schedule.warmUpEnd }),
            let last = outcome.seconds.last(where: { $0.end <= schedule.end })
        else { return [] }
        return outcome.threads.indices.map { thread in
            guard let from = first.time[thread], let to = last.time[thread] else { return (0, nil) }
            let waited = to.waiting.flatMap { to in from.waiting.map { (to - $0).inSeconds / measured } }
            return ((to.cpu - from.cpu).inSeconds / measured, waited)
        }
    }
}
