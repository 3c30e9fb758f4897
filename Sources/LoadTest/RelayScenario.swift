import EventLoop
import SoftphoneKit

/// Sends ICE candidates to and fro in calls that stand: what the server relays, and how long it takes.
public struct RelayScenario: LoadScenario {
    /// Candidates under way in a call at most; more could outrun the events that the server keeps for a resume.
    public static let largestWindow = 64

    public let name = "relay"
    public let calls: Int
    /// Candidates under way in each call.
    public let window: Int
    /// The measured time.
    public let duration: Duration
    public let shards: Int
    /// Far more than the load can be: it is to measure the server, not its limit.
    public let messagesPerSecond: Int? = 1_000_000

    /// - Parameter window: 1 to ``largestWindow``.
    public init(calls: Int, window: Int = 8, duration: Duration = .seconds(10), shards: Int = 1) {
        precondition((1...Self.largestWindow).contains(window), "the window is out of range")
        self.calls = calls
        self.window = window
        self.duration = duration
        self.shards = shards
    }

    public var connections: Int { 2 * calls }

    /// How many sessions are opened, and calls set up, at a time.
    private static let setUpConcurrency = 100

    public func run(on server: ServerProcess, progress: @escaping LoadProgress) async throws -> LoadReport {
        let runtime = try SoftphoneRuntime()
        let fleet = try await Fleet.make(size: connections, server: server, runtime: runtime)
        let opening = try await Fleet.open(fleet, concurrency: Self.setUpConcurrency, progress: progress)
        guard opening.failures.isEmpty else {
            throw LoadError("the sessions could not be opened: \(opening.failures)")
        }
        let pid = server.pid
        let result: RelayRun.Result = try await runtime.loop.result { [self] done in
            RelayRun(fleet: fleet.value, server: pid, scenario: self, progress: progress) { done($0) }
                .begin(concurrency: Self.setUpConcurrency)
        }
        await Fleet.close(fleet)
        return report(result)
    }

    private func report(_ result: RelayRun.Result) -> LoadReport {
        var report = LoadReport(scenario: name)
        let relayed = result.relayed
        let rate = Double(relayed) / result.usage.elapsed.seconds
        report.figures = [
            Figure("calls", Double(result.calls), .count, "calls that stood, each with \(window) candidates under way"),
            Figure("relayed", Double(relayed), .count, "candidates that arrived at the other side"),
            Figure("relayed_per_second", rate, .perSecond, "the same by second"),
            Figure(
                "messages_per_second", 2 * rate, .perSecond,
                "messages into and out of the server for them; acknowledgements, one in 16, come on top"),
            Figure(
                "server_cpu_per_relayed", Self.microseconds(result.usage.server, by: relayed), .microseconds,
                "server CPU time by candidate that arrived, acknowledgements included"),
        ]
        report.add(result.usage)
        report.latencies = [
            result.roundTrips.summary(
                "round_trip", "sent by the caller to back at the caller: relayed twice, waits in both programs included"
            )
        ]
        report.failures = result.failures
        return report
    }
}
