import AdminServer
import CallCore
import CallMonitor
import CallVocabulary
import ClientTokens
import EventLoop
import PostgresStore
import PushClient
import PushCore
import StoreInterface
import WebSocketServer
import WebhookClient

/// Combines the metrics of all parts of a running server. `Metrics.md` describes each.
struct MetricsReport: Sendable {
    let webSockets: WebSocketServer
    let parts: ServerParts
    /// The mailboxes of the shards, by index.
    let shards: [Mailbox<ShardMessage>]
    let configuration: ServerConfiguration
    let certificates: ListenerCertificates
    let watch: ProblemWatch
    /// Returns nil once the monitor has stopped.
    let monitor: @Sendable () async -> LiveFigures?

    var sources: HTTPRoutes.Sources {
        HTTPRoutes.Sources(
            problems: { [watch] in await watch.problems() }, metrics: { await text() },
            isHome: { [homeLease = parts.store.homeLease] in homeLease?.term.isHeld ?? true })
    }

    private func text() async -> String {
        var report = PrometheusText()
        let snapshot = await parts.core.snapshot()
        let monitor = await monitor()
        report.metric(
            "reveille_build_info", .gauge, "1, with the version.",
            [("version=\"\(CallServer.version)\",node=\"\(PrometheusText.label(configuration.node))\"", 1)])
        ProblemMetrics.add(await watch.problems(), to: &report)
        if let homeLease = parts.store.homeLease { RealmMetrics.add(homeLease.term, to: &report) }
        if let snapshot { CoreMetrics.add(snapshot, parts.rates, to: &report) }
        if let monitor { MonitorMetrics.add(calls: monitor.calls.live, stages: monitor.stages, to: &report) }
        ListenerMetrics.add(webSockets.statistics, to: &report)
        ListenerMetrics.add(parts.counters, to: &report)
        ListenerMetrics.add(parts.sessions.counters, to: &report)
        AuthorizationMetrics.add(parts.authorization.figures, to: &report)
        TokenMetrics.add(
            parts.tokens.counters, keys: parts.tokens.verifier.provider?.keys.count ?? 0, to: &report)
        WebhookMetrics.add(await parts.webhooks.endpoints(), now: parts.clock.time(), to: &report)
        StoreMetrics.add(parts.store.recordLog, to: &report)
        StoreMetrics.add(parts.store.recordLog.retention, to: &report)
        PushMetrics.add(parts.push.statistics, now: parts.clock.now(), to: &report)
        report.metric(
            "reveille_tls_certificate_expiry_timestamp_seconds", .gauge,
            "When the first of a listener's certificates expires, in Unix time.",
            certificates.all.map { ("listener=\"\($0.listener)\"", Double($0.ends.wholeSeconds)) })
        queues(monitor).add(to: &report)
        let loops = LoopMetrics.loops(core: parts.core.loop, shards: webSockets.shardLoops)
        LoopMetrics.add(loops.map { ($0.name, $0.loop.statistics) }, to: &report)
        report.metric(
            "reveille_log_lines_dropped_total", .counter,
            "Log lines dropped because the log's buffer was full, or that could not be written.",
            configuration.logLinesDropped())
        ClockMetrics.add(parts.clock.figures, to: &report)
        ProcessFigures.now().add(to: &report)
        return report.text
    }

    private func queues(_ monitor: LiveFigures?) -> QueueMetrics {
        let push = parts.push.statistics
        var queues = QueueMetrics()
        queues.add(
            "core", depth: parts.core.inbox.count, capacity: parts.core.inbox.capacity,
            refused: parts.core.inbox.refused)
        queues.add("store", depth: parts.store.recordLog.waiting, capacity: parts.store.recordLog.capacity)
        let pushCapacity =
            configuration.push.apns.reduce(0) { $0 + $1.policy.queueCapacity }
            + configuration.push.fcm.reduce(0) { $0 + $1.policy.queueCapacity }
            + (configuration.push.webPush?.policy.queueCapacity ?? 0)
        queues.add(
            "push", depth: push.pools.reduce(push.preparing + push.mapping) { $0 + $1.queueDepth },
            capacity: pushCapacity, refused: push.refused)
        for (index, shard) in shards.enumerated() {
            queues.add("shard_\(index)", depth: shard.count, capacity: shard.capacity, refused: shard.refused)
        }
        if let monitor {
            queues.add(
                "admin_feed", depth: monitor.feedWaiting, capacity: monitor.feedCapacity, refused: monitor.feedLosses)
        }
        return queues
    }
}
