import EventLoop
import SoftphoneKit

/// Whole calls between phones that are online: invite, ringing, answer, connected at both sides, hangup.
public struct OnlineScenario: LoadScenario {
    public let name = "online"
    /// Pairs of phones; each begins its next call when the last one is over.
    public let callsAtOnce: Int
    /// The measured time.
    public let duration: Duration
    public let shards: Int
    /// Far more than the load can be: it is to measure the server, not its limit.
    public let messagesPerSecond: Int? = 1_000_000

    public init(callsAtOnce: Int, duration: Duration = .seconds(10), shards: Int = 1) {
        self.callsAtOnce = callsAtOnce
        self.duration = duration
        self.shards = shards
    }

    public var connections: Int { 2 * callsAtOnce }

    /// How many sessions are opened at a time.
    private static let openConcurrency = 100

    public func run(on server: ServerProcess, progress: @escaping LoadProgress) async throws -> LoadReport {
        let runtime = try SoftphoneRuntime()
        let fleet = try await Fleet.make(size: connections, server: server, runtime: runtime)
        let opening = try await Fleet.open(fleet, concurrency: Self.openConcurrency, progress: progress)
        guard opening.failures.isEmpty else {
            throw LoadError("the sessions could not be opened: \(opening.failures)")
        }
        let pid = server.pid
        let result: OnlineRun.Result = try await runtime.loop.result { [self] done in
            OnlineRun(fleet: fleet.value, server: pid, scenario: self, progress: progress) { done($0) }.begin()
        }
        var report = report(result)
        // Their ends have been told, so they are on disk: the phones hear of nothing before.
        let live = try server.liveCalls(limit: callsAtOnce + 1)
        if live > 0, result.failures.isEmpty { report.violations.append("\(live) calls live on in the store") }
        await Fleet.close(fleet)
        return report
    }

    private func report(_ result: OnlineRun.Result) -> LoadReport {
        var report = LoadReport(scenario: name)
        report.figures = [
            Figure("calls", Double(result.calls), .count, "calls that came to their end in order"),
            Figure(
                "calls_per_second", Double(result.calls) / result.usage.elapsed.seconds, .perSecond,
                "the same by second"
            ),
            Figure(
                "server_cpu_per_call", Self.microseconds(result.usage.server, by: result.calls), .microseconds,
                "server CPU time by call that came to its end in order"),
        ]
        report.add(result.usage)
        report.latencies = CallStage.allCases.map { stage in
            (result.stages[stage] ?? Latencies()).summary(stage.rawValue, stage.definition)
        }
        report.failures = result.failures
        return report
    }
}
