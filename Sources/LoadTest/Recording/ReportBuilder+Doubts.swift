import CallStore
import StoreInterface

/// What makes the figures doubtful.
extension ReportBuilder {
    var doubts: [String] {
        var doubts: [String] = []
        if outcome.wasStopped { doubts.append("the run was asked to end after \(text(measured)) s that count") }
        if outcome.wasServerRestarted {
            doubts.append(
                "the server was started anew during the run: nothing is told of what it counts over that, and all else "
                    + "has the time in it that this took")
        }
        guard measured > 0 else { return doubts + ["the run ended before the part that counts"] }
        return doubts + generatorDoubts + portDoubts + machineDoubts + measureDoubts + limitDoubts
    }

    private var generatorDoubts: [String] {
        var doubts: [String] = []
        for (thread, share) in threadShares.enumerated() where share.busy > LoadDoubts.busyThread {
            doubts.append(
                "thread \(thread) of phones used \(LoadDoubts.percent(share.busy)) of a core: the load generator was a bottleneck; "
                    + "use more threads, or more cores")
        }
        if let simulator = cores?.simulator, simulator > LoadDoubts.busyThread {
            doubts.append(
                "the push simulator used \(LoadDoubts.percent(simulator)) of a core, on one thread: it was a bottleneck, which all "
                    + "times of pushes have in them; use less load")
        }
        let usual = outcome.threads.first?.stages.first.flatMap { all.stages[$0]?.percentile(50) } ?? 0
        let late = isOpen ? all.lateness.percentile(99) : all.lag.percentile(99)
        if LoadDoubts.isLate(p99: late, stage: usual) {
            doubts.append(
                "one in a hundred \(isOpen ? "pieces was begun" : "things due on a thread of phones came") "
                    + "\(LoadDoubts.milliseconds(late)) ms late or more, which is part of its times: "
                    + latenessCause.words)
        }
        if all.failureCounts.notBegun > 0 {
            doubts.append("\(all.failureCounts.notBegun) were due and not begun: the load was less than asked for")
        }
        // The last sessions of a register run are fewer than are opened at a time.
        let wanted = Double(plan.concurrency)
        if plan.scenario != .register, all.underWayMean < LoadDoubts.fewUnderWay * wanted {
            doubts.append(
                "\(text(all.underWayMean)) of \(plan.concurrency) were under way on average: the others waited for a free phone, "
                    + "or for the load generator, so that the pace is not the server's alone")
        }
        return doubts
    }

    /// Linux first looks among one half of the ports, then among the other (inet_hashtables.c), one after the other.
    private var portDoubts: [String] {
        guard plan.connectsAnew, let ports = outcome.localPorts, plan.connections > ports / 2 else { return [] }
        return [
            "\(plan.connections) connections take more than half of the \(ports) ports that this machine gives out, so that "
                + "it takes the load generator milliseconds to find one for each phone that connects anew: widen the range "
                + "(sysctl net.ipv4.ip_local_port_range)"
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
                "the machine was full (\(text(machine)) of \(LoadEnvironment.usableCores) cores): times contain waiting "
                    + "for a core; what a piece costs in CPU time does not")
        }
        if let stolen = cores.stolen, stolen > LoadDoubts.otherWork * processors {
            doubts.append(
                "the host of this virtual machine ran something else in place of \(text(stolen)) cores that had work")
        }
        if let others = otherCores, others > LoadDoubts.otherWork * processors {
            doubts.append("processes that have no part in the run used \(text(others)) cores")
        }
        return doubts
    }

    private var measureDoubts: [String] {
        var doubts: [String] = []
        if all.completed < LoadDoubts.fewest {
            doubts.append("only \(all.completed) were completed: the high percentiles rest on few")
        }
        // What was given up has no end that could be timed.
        let missing = all.failureCounts.pieces + all.cutShort
        if missing > 0 {
            doubts.append(
                "the times are of what was begun and went well, \(all.completedInAll) in all: \(missing) more waited longer, "
                    + "or for ever")
        }
        if plan.scenario.hasDuration, plan.scenario.hasHold, plan.warmUp < plan.hold {
            doubts.append(
                "calls are held for \(LoadPlan.text(plan.hold)) and the warm-up is \(LoadPlan.text(plan.warmUp)): for a part of "
                    + "the time that counts fewer ended than began")
        }
        doubts += otherClientsDoubts
        if cores?.server == nil, cores?.serverByMetrics == nil { doubts += metricsDoubts }
        if let fileSystem = outcome.fileSystem, fileSystem.isMemory {
            doubts.append(
                "the server's data lies in memory (\(fileSystem)), where nothing is written to a disk: name a folder "
                    + "on one with --data")
        }
        return doubts
    }

    /// Others' calls at the same server. A server of the run's own has none, and of calls with faults the invites are not timed.
    private var otherClientsDoubts: [String] {
        guard case .running = plan.target, !plan.faults,
            let taken = growth(of: { $0["reveille_calls_invited_total"] })
        else { return [] }
        // Those that failed may have come to the server as well.
        let failed = all.failureCounts.pieces + all.cutShort
        let invited = Int(all.stages[.inviteResult]?.count ?? 0) + failed
        // The server was asked a little later than the part that counts began and ended.
        let own = Double(invited) * taken.seconds / measured + all.underWayMean
        guard taken.amount - own > max(LoadDoubts.othersCalls * taken.amount, LoadDoubts.fewCalls) else { return [] }
        return [
            "the server took in \(Int(taken.amount)) calls while this load made \(invited): others use it too, and what a piece "
                + "costs it has theirs in it"
        ]
    }

    /// Why the server's CPU time is not known. Another address helps where there never was an answer.
    private var metricsDoubts: [String] {
        guard outcome.ready?.metrics?.cpu != nil else {
            let remedy = metricsURL.map { "look whether they are at \($0)" } ?? "name them with --metrics-url"
            return ["the server's metrics could not be read, so its CPU time is not known: \(remedy)"]
        }
        // That is a doubt already.
        guard !outcome.wasServerRestarted else { return [] }
        return [
            "the server's metrics could be read before the load, and not when the part that counts began or ended, so its "
                + "CPU time is not known: look at its log"
        ]
    }

    private func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}
