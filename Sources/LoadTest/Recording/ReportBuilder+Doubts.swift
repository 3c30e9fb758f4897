import CallStore
import StoreInterface

/// What makes the figures doubtful.
extension ReportBuilder {
    var doubts: [String] {
        var doubts: [String] = []
        if outcome.wasStopped {
            doubts.append("the run was interrupted after \(text(measured)) s of the measured part")
        }
        if outcome.wasServerRestarted {
            doubts.append(
                "the server was restarted during the run: figures from its own counts are missing, and all others "
                    + "include the restart"
            )
        }
        guard measured > 0 else { return doubts + ["the run ended before the measured part"] }
        return doubts + generatorDoubts + portDoubts + machineDoubts + measureDoubts + limitDoubts
    }

    private var generatorDoubts: [String] {
        var doubts: [String] = []
        for (thread, share) in threadShares.enumerated() where share.busy > LoadDoubts.busyThread {
            doubts.append(
                "phone thread \(thread) used \(LoadDoubts.percent(share.busy)) of a core: the load generator was a "
                    + "bottleneck; use more threads or cores"
            )
        }
        if let simulator = cores?.simulator, simulator > LoadDoubts.busyThread {
            doubts.append(
                "the push simulator used \(LoadDoubts.percent(simulator)) of a core, on one thread: it was a "
                    + "bottleneck, and all latencies of pushes include that; use less load"
            )
        }
        let usual = outcome.threads.first?.stages.first.flatMap { all.stages[$0]?.percentile(50) } ?? 0
        let late = isOpen ? all.lateness.percentile(99) : all.lag.percentile(99)
        if LoadDoubts.isLate(p99: late, stage: usual) {
            doubts.append(
                "1 % of the \(isOpen ? "operations began" : "timers of phone threads ran") at least "
                    + "\(LoadDoubts.milliseconds(late)) ms late, which latencies include: "
                    + latenessCause.words)
        }
        if all.failureCounts.notBegun > 0 {
            doubts.append(
                "\(all.failureCounts.notBegun) operations were due and not begun: the load was lower than asked for")
        }
        // The last sessions of a register run are fewer than are opened at a time.
        let wanted = Double(plan.concurrency)
        if plan.scenario != .register, all.underWayMean < LoadDoubts.fewUnderWay * wanted {
            doubts.append(
                "\(text(all.underWayMean)) of \(plan.concurrency) operations were under way on average: the others "
                    + "waited for a free phone or for the load generator"
            )
        }
        return doubts
    }

    /// Linux first looks among one half of the ports, then among the other (inet_hashtables.c), one after the other.
    private var portDoubts: [String] {
        guard plan.connectsAnew, let ports = outcome.localPorts, plan.connections > ports / 2 else { return [] }
        return [
            "\(plan.connections) connections use more than half of the \(ports) local ports, so that finding a free "
                + "one takes milliseconds for each phone that reconnects: widen the range (sysctl "
                + "net.ipv4.ip_local_port_range)"
        ]
    }

    private var isOpen: Bool { plan.concurrency == 0 }

    private var latenessCause: LatenessCause {
        let busiest = threadShares.max { $0.busy < $1.busy }
        return LatenessCause(
            busiestThread: busiest?.busy ?? 0, waiting: busiest?.waiting, stolen: cores?.stolen, others: otherCores,
            machine: cores?.machine,
            processors: Double(LoadEnvironment.usableCores))
    }

    private var machineDoubts: [String] {
        guard let cores, let machine = cores.machine else { return [] }
        var doubts: [String] = []
        let processors = Double(LoadEnvironment.usableCores)
        if machine > LoadDoubts.busyMachine * processors {
            doubts.append(
                "the machine was saturated (\(text(machine)) of \(LoadEnvironment.usableCores) cores): latencies "
                    + "include the wait for a core; CPU time per operation does not"
            )
        }
        if let stolen = cores.stolen, stolen > LoadDoubts.otherWork * processors {
            doubts.append(
                "the host of this virtual machine took \(text(stolen)) cores that had work")
        }
        if let others = otherCores, others > LoadDoubts.otherWork * processors {
            doubts.append("processes outside the run used \(text(others)) cores")
        }
        return doubts
    }

    private var measureDoubts: [String] {
        var doubts: [String] = []
        if all.completed < LoadDoubts.fewest {
            doubts.append("only \(all.completed) operations were completed: high percentiles have few samples")
        }
        // What was given up has no end that could be timed.
        let missing = all.failureCounts.operations + all.cutShort
        if missing > 0 {
            doubts.append(
                "latencies cover the \(all.completedInAll) operations that succeeded: \(missing) more took longer or "
                    + "never ended"
            )
        }
        if plan.scenario.hasDuration, plan.scenario.hasHold, plan.warmUp < plan.hold {
            doubts.append(
                "calls are held for \(LoadPlan.text(plan.hold)) and the warm-up is \(LoadPlan.text(plan.warmUp)): in "
                    + "the measured part fewer calls ended than began"
            )
        }
        doubts += otherClientsDoubts
        if cores?.server == nil, cores?.serverByMetrics == nil { doubts += metricsDoubts }
        if let fileSystem = outcome.fileSystem, fileSystem.isMemory {
            doubts.append(
                "the server's data is in memory (\(fileSystem)), where a write costs nothing: name a folder on a disk "
                    + "with --data"
            )
        }
        return doubts
    }

    /// Calls of other clients at a target. With faults, invites are not timed and cannot be compared.
    private var otherClientsDoubts: [String] {
        guard case .running = plan.target, !plan.faults,
            let taken = growth(of: { $0["reveille_calls_invited_total"] })
        else { return [] }
        // Those that failed may have come to the server as well.
        let failed = all.failureCounts.operations + all.cutShort
        let invited = Int(all.stages[.inviteResult]?.count ?? 0) + failed
        // The server was asked a little later than the measured part began and ended.
        let own = Double(invited) * taken.seconds / measured + all.underWayMean
        guard taken.amount - own > max(LoadDoubts.othersCalls * taken.amount, LoadDoubts.fewCalls) else { return [] }
        return [
            "the server accepted \(Int(taken.amount)) calls while this load made \(invited): others use it too, and "
                + "the cost per operation includes their calls"
        ]
    }

    /// Why the server's CPU time is not known. Another address helps where there never was an answer.
    private var metricsDoubts: [String] {
        // What a server has counted is lost when it is killed.
        guard !plan.target.losesSessions else { return [] }
        guard outcome.ready?.metrics?.cpu != nil else {
            let remedy = metricsURL.map { "look whether they are at \($0)" } ?? "name them with --metrics-url"
            return ["the server's metrics could not be read, so its CPU time is unknown: \(remedy)"]
        }
        // That is a doubt already.
        guard !outcome.wasServerRestarted else { return [] }
        return [
            "the server's metrics could be read before the load, and not at the start or the end of the measured "
                + "part, so its CPU time is unknown: see its log"
        ]
    }

    private func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}
