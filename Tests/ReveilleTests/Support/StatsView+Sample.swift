import AdminProtocol
import CallVocabulary

extension ServerInfo {
    static func sample(isDraining: Bool = false, liveCalls: Int = 3) -> ServerInfo {
        var info = ServerInfo(
            version: "1.0", node: "node-1", startedAt: Timestamp(Scenarios.begin), address: "127.0.0.1:8440",
            clientURL: "ws://127.0.0.1:8440", data: "/var/lib/reveille", isDraining: isDraining,
            drainsUntil: isDraining ? Timestamp(Scenarios.begin + .seconds(4200)) : nil, liveCalls: liveCalls,
            sessions: 12, processID: 4711, metrics: "http://127.0.0.1:7352/metrics",
            realm: RealmInfo(epoch: 7, leaseMilliseconds: 2600, standbys: ["node-2"]))
        info.mayChange = true
        info.problems = []
        return info
    }
}

extension StatsView {
    /// Of a server with some work to do and nothing wrong.
    static func sample(live: [CallState: Int] = [.ringing: 1, .connected: 2], isDraining: Bool = false) -> StatsView {
        var stats = StatsView(
            at: Timestamp(CommandRun.now), server: .sample(isDraining: isDraining),
            calls: Calls(
                live: live, invited: 1200, answered: 900, connected: 890,
                ended: [.hangup: 890, .ringTimeout: 200, .declined: 107], invitedPerSecond: 1.25, endedPerSecond: 1.5,
                endedLastMinute: [.hangup: 60]),
            sessions: Sessions(online: 12, away: 1, connections: 14, resumed: 40),
            stages: [
                Stage(
                    stage: .inviteToRinging, count: 70, p50Milliseconds: 120, p95Milliseconds: 2400,
                    p99Milliseconds: 3100.5, maxMilliseconds: 12_000),
                Stage(
                    stage: .pushSentToReported, count: 0, p50Milliseconds: 0, p95Milliseconds: 0, p99Milliseconds: 0,
                    maxMilliseconds: 0),
            ],
            pushes: Pushes(
                provider: [.accepted: 38, .sent: 2], report: [.reported: 36, .unreported: 2, .awaited: 2],
                violations: [], intended: 5000, devicesSuspended: 1),
            pushPools: [
                PushPool(
                    provider: .apns, environment: .production, credential: "key ABC123", queued: 1,
                    oldestQueuedMilliseconds: 40, inFlight: 2, connections: 3, isCircuitOpen: false, accepted: 4800,
                    rejected: 12, unknown: 3, goAways: 2)
            ],
            store: Store(
                commits: 20_000, rows: 64_000, waiting: 0, failures: 0, p50Milliseconds: 0.4, p99Milliseconds: 2.1),
            queues: [Queue(name: "core", depth: 4, capacity: 65_536)], limits: [Limit(name: "invites", hits: 2)],
            process: Process(
                uptimeSeconds: 90_000, cpuSeconds: 321.5, residentBytes: 73_400_320, openFiles: 41, maxFiles: 1024),
            problems: isDraining
                ? [ServerProblem(.draining, isUnready: true, "draining: this server takes no new calls")] : [])
        (stats.server.mayChange, stats.server.problems) = (nil, nil)
        stats.stages[0].boundsMilliseconds = [100, 1000]
        stats.stages[0].buckets = [400, 780, 20]
        return stats
    }
}
