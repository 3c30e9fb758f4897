import AdminProtocol
import AdminServer
import CallCore
import CallMonitor
import CallVocabulary
import EventLoop
import Glibc
import PostgresStore
import PushClient
import PushCore
import StoreInterface
import WebSocketServer

/// Combines the figures of all parts of a running server for administrators. May be used from any thread.
struct StatsReport: Sendable {
    let webSockets: WebSocketServer
    let parts: ServerParts
    let node: String
    let address: String
    let clientURL: String
    let data: String
    let startedAt: Instant
    let metrics: String?

    init(
        webSockets: WebSocketServer, parts: ServerParts, address: SocketAddress, metrics: String?,
        configuration: ServerConfiguration
    ) {
        self.webSockets = webSockets
        self.parts = parts
        node = configuration.node
        self.address = "\(address)"
        clientURL = Self.clientURL(address, isSecure: configuration.tls != nil)
        data = configuration.data.path
        startedAt = parts.clock.now()
        self.metrics = metrics
    }

    var sources: FigureSources {
        FigureSources { completion in
            Task {
                let (problems, core) = (await parts.routes.problems(), await parts.core.snapshot())
                completion { live, now in view(core, live, problems, now) }
            }
        }
    }

    private func view(
        _ core: CoreSnapshot?, _ live: LiveFigures, _ problems: [ServerProblem], _ now: Instant
    ) -> StatsView {
        let listener = webSockets.statistics
        let push = parts.push.statistics
        return StatsView(
            at: Timestamp(parts.clock.wall(now)), server: server(core, live), calls: Self.calls(core?.counters, live),
            sessions: StatsView.Sessions(
                online: live.sessionsOnline, away: live.sessionsAway,
                connections: listener.shards.reduce(0) { $0 + $1.connections },
                resumed: Int(clamping: core?.counters.sessionsResumed ?? 0)),
            stages: live.stages.lastMinute(now: now), pushes: Self.pushes(core),
            pushPools: push.pools.map { StatsView.PushPool($0, now: now) }, store: store,
            queues: queues(core, push, live), limits: Self.limits(core, listener, live),
            process: process(now), problems: problems)
    }

    /// The URL for clients on this machine: a wildcard address is replaced by the loopback address.
    private static func clientURL(_ address: SocketAddress, isSecure: Bool) -> String {
        let text = "\(address)"
        let place =
            ["0.0.0.0:", "[::]:"].first { text.hasPrefix($0) }.map { any in
                (any.hasPrefix("[") ? "[::1]:" : "127.0.0.1:") + text.dropFirst(any.count)
            } ?? text
        return "\(isSecure ? "wss" : "ws")://\(place)"
    }

    private func server(_ core: CoreSnapshot?, _ live: LiveFigures) -> ServerInfo {
        ServerInfo(
            version: CallServer.version, node: node, startedAt: Timestamp(parts.clock.wall(startedAt)),
            address: address, clientURL: clientURL, data: data,
            isDraining: core?.isDraining ?? false, drainsUntil: Timestamp(core?.drainsUntil),
            liveCalls: live.liveCalls, sessions: live.sessionsOnline + live.sessionsAway, processID: Int(getpid()),
            metrics: metrics,
            realm: parts.store.homeLease.map {
                RealmInfo(
                    epoch: Int($0.term.epoch), leaseMilliseconds: Int(max(.zero, $0.term.remaining) / .milliseconds(1)),
                    standbys: $0.term.standbys.sorted())
            })
    }

    /// Counters since the start come from the core, which misses nothing; live and recent figures from the monitor.
    private static func calls(_ counters: CoreCounters?, _ live: LiveFigures) -> StatsView.Calls {
        var ended: [EndReason: Int] = [:]
        for (reason, count) in zip(EndReason.allCases, counters?.callsEnded ?? []) where count > 0 {
            ended[reason] = Int(clamping: count)
        }
        return StatsView.Calls(
            live: live.calls.live, invited: Int(clamping: counters?.callsInvited ?? 0),
            answered: Int(clamping: counters?.callsAnswered ?? 0),
            connected: Int(clamping: counters?.callsConnected ?? 0), ended: ended,
            invitedPerSecond: live.calls.invitedPerSecond, endedPerSecond: live.calls.endedPerSecond,
            endedLastMinute: live.calls.endedLastMinute)
    }

    private static func pushes(_ core: CoreSnapshot?) -> StatsView.Pushes {
        var provider: [ProviderStatus: Int] = [:]
        var report: [ReportStatus: Int] = [:]
        for status in ProviderStatus.allCases { provider[status] = core?.ledger.count(status) ?? 0 }
        for status in ReportStatus.allCases { report[status] = core?.ledger.count(status) ?? 0 }
        return StatsView.Pushes(
            provider: provider, report: report, violations: core?.ledgerViolations ?? [],
            intended: Int(clamping: core?.counters.pushesIntended ?? 0),
            devicesSuspended: Int(clamping: core?.counters.devicesSuspended ?? 0))
    }

    private var store: StatsView.Store {
        let statistics = parts.store.recordLog.statistics
        func milliseconds(_ share: Double) -> Double {
            statistics.latency.percentile(share).map { $0 / .milliseconds(1) } ?? 0
        }
        return StatsView.Store(
            commits: Int(clamping: statistics.commits), rows: Int(clamping: statistics.rows),
            waiting: parts.store.recordLog.waiting, failures: Int(clamping: statistics.failures),
            p50Milliseconds: milliseconds(0.5), p99Milliseconds: milliseconds(0.99))
    }

    private func queues(_ core: CoreSnapshot?, _ push: PushStatistics, _ live: LiveFigures) -> [StatsView.Queue] {
        [
            StatsView.Queue(name: "core", depth: parts.core.inbox.count, capacity: parts.core.inbox.capacity),
            StatsView.Queue(name: "commits", depth: core?.commitsPending ?? 0, capacity: CoreLoop.pendingCommits),
            StatsView.Queue(
                name: "store", depth: parts.store.recordLog.waiting, capacity: parts.store.recordLog.capacity),
            StatsView.Queue(
                name: "push", depth: push.pools.reduce(push.preparing + push.mapping) { $0 + $1.queueDepth },
                capacity: nil),
            StatsView.Queue(name: "admin_feed", depth: live.feedWaiting, capacity: live.feedCapacity),
        ]
    }

    private static func limits(
        _ core: CoreSnapshot?, _ listener: WebSocketServer.Statistics, _ live: LiveFigures
    ) -> [StatsView.Limit] {
        let hits: [(String, UInt64)] =
            CoreLimit.allCases.map { ($0.rawValue, core?.counters.hits(of: $0) ?? 0) } + [
                ("core_inbox", core?.inboxRefused ?? 0), ("connections", listener.refused),
                ("slow_consumers", listener.shards.reduce(0) { $0 + $1.slowConsumers }),
                ("admin_feed", live.feedLosses),
            ]
        return hits.filter { $0.1 > 0 }.map { StatsView.Limit(name: $0.0, hits: Int(clamping: $0.1)) }
    }

    private func process(_ now: Instant) -> StatsView.Process {
        let figures = ProcessFigures.now()
        return StatsView.Process(
            uptimeSeconds: (now - startedAt).wholeMilliseconds / 1000, cpuSeconds: figures.cpuSeconds,
            residentBytes: figures.residentBytes ?? 0, openFiles: figures.openFiles ?? 0, maxFiles: figures.maxFiles)
    }
}

extension StatsView.PushPool {
    fileprivate init(_ pool: PushStatistics.Pool, now: Instant) {
        self.init(
            provider: pool.provider, environment: pool.environment, credential: pool.credentialName,
            queued: pool.queueDepth,
            oldestQueuedMilliseconds: pool.oldestWaiting.map { max(0, (now - $0).wholeMilliseconds) } ?? 0,
            inFlight: pool.streamsInFlight, connections: pool.openConnections, isCircuitOpen: pool.circuit != .closed,
            accepted: Int(clamping: pool.counters.accepted), rejected: Int(clamping: pool.counters.rejected),
            unknown: Int(clamping: pool.counters.unknown), goAways: Int(clamping: pool.counters.goAways))
    }
}
