import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary

@testable import AdminServer
@testable import CallServer

extension FigureSources {
    /// The sources of a server without a listener, with the core if given.
    static func plain(_ core: CoreThread?) -> Self {
        Self { completion in
            Task {
                let snapshot = await core?.snapshot()
                completion { live, now in view(snapshot, live, now) }
            }
        }
    }

    private static func view(_ core: CoreSnapshot?, _ live: LiveFigures, _ now: Instant) -> StatsView {
        let server = ServerInfo(
            version: CallServer.version, node: "test", startedAt: Timestamp(now), address: "", data: "",
            isDraining: core?.isDraining ?? false, drainsUntil: nil, liveCalls: live.liveCalls,
            sessions: live.sessionsOnline + live.sessionsAway, processID: 1)
        return StatsView(
            at: Timestamp(now), server: server,
            calls: StatsView.Calls(
                live: live.calls.live, invited: Int(core?.counters.callsInvited ?? 0), answered: 0,
                connected: 0, ended: [:], invitedPerSecond: 0, endedPerSecond: 0, endedLastMinute: [:]),
            sessions: StatsView.Sessions(
                online: live.sessionsOnline, away: live.sessionsAway, connections: 0, resumed: 0),
            stages: [],
            pushes: StatsView.Pushes(
                provider: [:], report: [:], violations: [], intended: 0, devicesSuspended: 0),
            pushPools: [],
            store: StatsView.Store(
                commits: 0, rows: 0, waiting: 0, failures: 0, p50Milliseconds: 0, p99Milliseconds: 0),
            queues: [StatsView.Queue(name: "monitor", depth: live.feedWaiting, capacity: live.feedCapacity)],
            limits: [StatsView.Limit(name: "monitor", hits: Int(live.feedLosses))],
            process: StatsView.Process(
                uptimeSeconds: 0, cpuSeconds: 0, residentBytes: 0, openFiles: 0, maxFiles: 0),
            problems: [])
    }
}
