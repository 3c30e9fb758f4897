/// What makes the figures doubtful.
extension ReportBuilder {
    /// A thread of phones above this share of a core may have made others wait.
    private static let busyThread = 0.85
    private static let busyMachine = 0.95
    private static let otherWork = 0.05
    /// In microseconds.
    private static let lateStart: UInt64 = 1000
    private static let lateShare = 0.05
    /// Fewer than this, and one in a thousand is one or none.
    private static let fewest = 1000

    var doubts: [String] {
        var doubts: [String] = []
        if outcome.wasStopped { doubts.append("the run was asked to end after \(text(measured)) s that count") }
        guard measured > 0 else { return doubts + ["the run ended before the part that counts"] }
        return doubts + generatorDoubts + machineDoubts + measureDoubts
    }

    private var generatorDoubts: [String] {
        var doubts: [String] = []
        for (thread, share) in threadShares.enumerated() where share > Self.busyThread {
            doubts.append(
                "thread \(thread) of phones used \(percent(share)) of a core: the load generator was a bottleneck; "
                    + "use more threads, or more cores")
        }
        let late = all.lateness.percentile(99)
        let usual = outcome.threads.first?.stages.first.flatMap { all.stages[$0.rawValue]?.percentile(50) } ?? 0
        if late > Self.lateStart, Double(late) > Self.lateShare * Double(usual) {
            doubts.append(
                "one in a hundred was begun \(late) µs late or more, which is part of its times: the load "
                    + "generator was a bottleneck")
        }
        if all.notBegun > 0 {
            doubts.append("\(all.notBegun) were due and not begun: the load was less than asked for")
        }
        return doubts
    }

    private var machineDoubts: [String] {
        guard let cores, let machine = cores.machine else { return [] }
        var doubts: [String] = []
        let processors = Double(Self.processors)
        if machine > Self.busyMachine * processors {
            doubts.append(
                "the machine was full (\(text(machine)) of \(Self.processors) cores): times contain waiting for a core")
        }
        if let others = cores.others, others > Self.otherWork * processors {
            doubts.append("processes that have no part in the run used \(text(others)) cores")
        }
        return doubts
    }

    private var measureDoubts: [String] {
        var doubts: [String] = []
        if all.completed < Self.fewest {
            doubts.append("only \(all.completed) were completed: the high percentiles rest on few")
        }
        if cores?.server == nil, cores?.serverByMetrics == nil {
            doubts.append("the server's metrics could not be read: its CPU time and its ledger are not known")
        }
        return doubts
    }

    private func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
    private func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}
