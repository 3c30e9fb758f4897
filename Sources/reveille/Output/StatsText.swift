import AdminProtocol
import CallVocabulary
import Foundation

/// The figures of a running server, as text in sections.
enum StatsText {
    /// The indentation of a section.
    private static let indent = 2

    static func lines(_ stats: StatsView) -> [String] {
        var lines = server(stats)
        func section(_ title: String, _ body: [String]) {
            guard !body.isEmpty else { return }
            lines += ["", Terminal.bold(title)] + body.map { String(repeating: " ", count: indent) + $0 }
        }
        section("Calls", calls(stats.calls))
        section("Sessions", sessions(stats.sessions))
        section("Latencies of the last minute", stages(stats.stages))
        section("Pushes", pushes(stats))
        section("Store", [store(stats.store)])
        section("Queues", queues(stats.queues))
        section("Limits hit since the start", stats.limits.map { "\($0.name.shown) \($0.hits)" })
        section("Process", [process(stats.process)])
        return lines
    }

    // MARK: Sections

    private static func server(_ stats: StatsView) -> [String] {
        let server = stats.server
        let until = server.drainsUntil.map { ", until \(Moment.text($0.instant))" } ?? ""
        let draining = server.isDraining ? Terminal.styled("  draining\(until)", .yellow) : ""
        let head =
            "\(Terminal.bold("reveille \(server.version.shown)")) at \(server.address.shown), data in \(server.data.shown), "
            + "process \(server.processID), up \(Moment.coarse(.seconds(stats.process.uptimeSeconds)))"
        let realm = server.realm.map { realm in
            "home of its realm, epoch \(realm.epoch), "
                + (realm.standbys.isEmpty
                    ? Terminal.red("no server stands by")
                    : "standing by: \(realm.standbys.joined(separator: ", ").shown)")
        }
        return [head + draining] + (realm.map { [$0] } ?? [])
            + stats.problems.map(problem)
    }

    private static func problem(_ problem: ServerProblem) -> String {
        let mark = problem.isUnready ? "NOT READY" : problem.severity.rawValue.uppercased()
        return Terminal.styled("\(mark): \(problem.words.shown)", problem.severity == .critical ? .red : .yellow)
    }

    private static func calls(_ calls: StatsView.Calls) -> [String] {
        let live = calls.live.values.reduce(0, +)
        var lines = [
            "live \(live)" + list(CallState.allCases.map { ($0.rawValue, calls.live[$0, default: 0]) }, before: ": "),
            "a second: \(rate(calls.invitedPerSecond)) invited, \(rate(calls.endedPerSecond)) ended",
            "since the start: invited \(calls.invited), answered \(calls.answered), connected \(calls.connected)",
        ]
        func reasons(_ counts: [EndReason: Int]) -> String {
            list(EndReason.allCases.map { ($0.rawValue, counts[$0, default: 0]) }, before: ": ")
        }
        lines.append("ended since the start\(reasons(calls.ended))")
        lines.append("ended in the last minute\(reasons(calls.endedLastMinute))")
        return lines
    }

    private static func sessions(_ sessions: StatsView.Sessions) -> [String] {
        [
            "online \(sessions.online), away \(sessions.away), connections \(sessions.connections), "
                + "resumed since the start \(sessions.resumed)"
        ]
    }

    private static func stages(_ stages: [StatsView.Stage]) -> [String] {
        let measured = stages.filter { $0.count > 0 }
        guard !measured.isEmpty else { return ["nothing was timed"] }
        var table = Table(
            [Table.Column("STAGE")]
                + ["COUNT", "P50", "P95", "P99", "MAX"].map { Table.Column($0, isRight: true) })
        for stage in measured {
            let times = [
                stage.p50Milliseconds, stage.p95Milliseconds, stage.p99Milliseconds, stage.maxMilliseconds,
            ]
            table.add([words(stage.stage), "\(stage.count)"] + times.map(milliseconds))
        }
        return table.lines(width: nil)
    }

    static func words(_ stage: CallStage) -> String {
        switch stage {
        case .inviteToRinging: "invite to ringing"
        case .ringingToAnswer: "ringing to answer"
        case .answerToConnected: "answer to connected"
        case .pushIntendedToSent: "push on disk to sent"
        case .pushSentToAnswered: "push sent to the provider's answer"
        case .pushSentToWoken: "push sent to woken"
        case .pushSentToReported: "push sent to reported"
        }
    }

    private static func pushes(_ stats: StatsView) -> [String] {
        let pushes = stats.pushes
        let lines = [
            "intended since the start \(pushes.intended), devices suspended \(pushes.devicesSuspended)",
            "in memory, with the provider"
                + list(ProviderStatus.allCases.map { ($0.rawValue, pushes.provider[$0, default: 0]) }, before: ": "),
            "in memory, by the device's word"
                + list(ReportStatus.allCases.map { ($0.rawValue, pushes.report[$0, default: 0]) }, before: ": "),
        ]
        guard !stats.pushPools.isEmpty else { return lines }
        let counts = ["IN FLIGHT", "ACCEPTED", "REJECTED", "UNKNOWN", "CONNECTIONS", "GOAWAYS"]
        var table = Table(
            [Table.Column("POOL", least: 20)] + ["QUEUED", "OLDEST"].map { Table.Column($0, isRight: true) }
                + counts.enumerated().map { Table.Column($1, sacrifice: 2 + $0, isRight: true) }
                + [Table.Column("CIRCUIT")])
        for pool in stats.pushPools {
            let name = "\(pool.provider.rawValue)/\(pool.environment.rawValue) \(pool.credential)"
            let counts = [
                pool.inFlight, pool.accepted, pool.rejected, pool.unknown, pool.connections, pool.goAways,
            ]
            table.add(
                [Table.Cell(name), Table.Cell("\(pool.queued)")]
                    + [Table.Cell(Moment.exact(milliseconds: pool.oldestQueuedMilliseconds))]
                    + counts.map { Table.Cell("\($0)") }
                    + [pool.isCircuitOpen ? Table.Cell("open", .red) : "closed"])
        }
        return lines + table.lines(width: Console.current.width.map { $0 - indent })
    }

    private static func store(_ store: StatsView.Store) -> String {
        "commits \(store.commits) of \(store.rows) rows, p50 \(milliseconds(store.p50Milliseconds)), "
            + "p99 \(milliseconds(store.p99Milliseconds)), waiting \(store.waiting), "
            + Terminal.styled("failures \(store.failures)", store.failures > 0 ? .red : .plain)
    }

    private static func queues(_ queues: [StatsView.Queue]) -> [String] {
        queues.filter { $0.depth > 0 || $0.capacity != nil }.map { queue in
            "\(queue.name.shown) \(queue.depth)" + (queue.capacity.map { " of \($0)" } ?? "")
        }
    }

    private static func process(_ process: StatsView.Process) -> String {
        let cpu = String(format: "%.1f", process.cpuSeconds)
        let memory = String(format: "%.1f", Double(process.residentBytes) / 1_048_576)
        return "cpu \(cpu) s, memory \(memory) MiB, open files \(process.openFiles) of \(process.maxFiles)"
    }

    // MARK: Figures

    /// Those that are not zero.
    private static func list(_ counts: [(String, Int)], before: String) -> String {
        let shown = counts.filter { $0.1 != 0 }.map { "\($0.0) \($0.1)" }
        return before + (shown.isEmpty ? "none" : shown.joined(separator: ", "))
    }

    private static func rate(_ value: Double) -> String { String(format: "%.1f", value) }

    private static func milliseconds(_ value: Double) -> String {
        value < 10_000 ? String(format: "%.1f ms", value) : String(format: "%.1f s", value / 1000)
    }
}
