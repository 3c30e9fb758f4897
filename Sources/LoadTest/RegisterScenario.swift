import EventLoop
import SoftphoneKit

/// Opens sessions and keeps them: how fast, and what each costs the server.
public struct RegisterScenario: LoadScenario {
    public let name = "register"
    public let sessions: Int
    /// Openings under way at a time.
    public let concurrency: Int
    /// How long the sessions are kept before the server's memory is read.
    public let hold: Duration
    public let shards: Int
    public let messagesPerSecond: Int? = nil

    public init(sessions: Int, concurrency: Int = 200, hold: Duration = .seconds(1), shards: Int = 1) {
        self.sessions = sessions
        self.concurrency = concurrency
        self.hold = hold
        self.shards = shards
    }

    public var connections: Int { sessions }

    public func run(on server: ServerProcess, progress: @escaping LoadProgress) async throws -> LoadReport {
        let runtime = try SoftphoneRuntime()
        progress("minting \(sessions) tokens")
        let fleet = try await Fleet.make(size: sessions, server: server, runtime: runtime)
        let before = try UsageSnapshot.take(server: server.pid)
        let opening = try await Fleet.open(fleet, concurrency: concurrency, progress: progress)
        let opened = try UsageSnapshot.take(server: server.pid)
        let losses = LoopBound(Losses(), on: runtime.loop)
        await runtime.loop.run {
            fleet.value.onEvent = { _, event in losses.value.note(event) }
        }
        progress("holding \(opening.latencies.count) sessions")
        try await Task.sleep(for: hold)
        let held = try UsageSnapshot.take(server: server.pid)
        let lost = await runtime.loop.run { losses.value.reasons } ?? [:]
        await Fleet.close(fleet)

        var report = LoadReport(scenario: name)
        let count = opening.latencies.count
        let growth = Double(held.server.residentBytes - before.server.residentBytes)
        report.figures = [
            Figure("sessions", Double(count), .count, "sessions opened"),
            Figure(
                "sessions_per_second", Double(count) / opening.elapsed.seconds, .perSecond,
                "sessions opened, by the time from the first connect to the last session.open answered"),
            Figure(
                "server_rss_before", Double(before.server.residentBytes), .bytes,
                "VmRSS of the server without connections"),
            Figure(
                "server_rss_after", Double(held.server.residentBytes), .bytes,
                "VmRSS of the server after the hold, all sessions open"),
            Figure(
                "bytes_per_session", count == 0 ? 0 : growth / Double(count), .bytes,
                "growth of VmRSS by session: the server's memory alone, without the kernel's socket buffers"),
            Figure(
                "server_cpu_per_session", Self.microseconds(before.span(until: opened).server, by: count),
                .microseconds, "server CPU time while the sessions were opened, by session"),
        ]
        report.add(before.span(until: opened))
        report.latencies = [
            opening.latencies.summary("open", "from connect (TCP, WebSocket, welcome) to session.open answered")
        ]
        report.failures = opening.failures.merging(lost) { $0 + $1 }
        return report
    }
}

extension LoadScenario {
    static func microseconds(_ time: Duration, by count: Int) -> Double {
        count == 0 ? 0 : time.seconds * 1_000_000 / Double(count)
    }
}

/// Sessions that were lost while they should have stood. Confined to the fleet's loop.
final class Losses {
    private(set) var reasons: [String: Int] = [:]

    func note(_ event: SoftphoneEvent) {
        guard case .connection(let change) = event else { return }
        switch change {
        case .down(_, let reason, _): reasons["session lost: \(reason)", default: 0] += 1
        case .gone(let reason): reasons["session lost: \(reason)", default: 0] += 1
        case .up, .resumed, .offline: break
        }
    }
}

@available(*, unavailable)
extension Losses: Sendable {}
