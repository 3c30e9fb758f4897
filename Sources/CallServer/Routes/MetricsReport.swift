import CallCore
import CallStore
import CallVocabulary
import Glibc
import PushClient
import WebSocketServer

/// Gathers the figures of all parts of a running server.
struct MetricsReport: Sendable {
    let webSockets: WebSocketServer
    let parts: ServerParts

    var sources: HTTPRoutes.Sources {
        HTTPRoutes.Sources(problems: { await problems() }, metrics: { await text() })
    }

    private func problems() async -> [String] {
        Readiness(
            store: parts.committer.failure, core: await parts.core.snapshot(), push: parts.push.statistics,
            now: parts.clock.now()
        ).problems
    }

    private func text() async -> String {
        var report = PrometheusText()
        if let snapshot = await parts.core.snapshot() { Self.add(snapshot, to: &report) }
        Self.add(webSockets.statistics, to: &report)
        Self.add(parts.counters, to: &report)
        Self.add(parts.committer.statistics, waiting: parts.committer.waiting, to: &report)
        PushMetrics.add(parts.push.statistics, now: parts.clock.now(), to: &report)
        Self.addProcess(to: &report)
        return report.text
    }

    private static func add(_ core: CoreSnapshot, to report: inout PrometheusText) {
        report.metric("reveille_calls_live", .gauge, "Calls that are not over.", core.liveCalls)
        report.metric("reveille_sessions_online", .gauge, "Sessions with a socket.", core.onlineSessions)
        report.metric("reveille_draining", .gauge, "1 while no new calls are taken.", core.isDraining ? 1 : 0)
        report.metric("reveille_calls_invited_total", .counter, "Calls taken in.", core.counters.callsInvited)
        report.metric("reveille_calls_answered_total", .counter, "Calls answered.", core.counters.callsAnswered)
        report.metric(
            "reveille_calls_connected_total", .counter, "Calls with media on both sides.", core.counters.callsConnected)
        report.metric(
            "reveille_calls_ended_total", .counter, "Calls that are over, by reason.",
            zip(EndReason.allCases, core.counters.callsEnded).map { ("reason=\"\($0.rawValue)\"", Double($1)) })
        report.metric(
            "reveille_pushes_intended_total", .counter, "Pushes for calls intended since the start.",
            core.counters.pushesIntended)
        report.metric(
            "reveille_pushes_recovered_total", .counter, "Pushes that the start took up again.",
            core.counters.pushesRecovered)
        report.metric(
            "reveille_notices_intended_total", .counter, "Pushes about missed calls intended since the start.",
            core.counters.noticesIntended)
        report.metric(
            "reveille_notices_dropped_total", .counter, "Pushes about missed calls that there was no room for.",
            core.counters.noticesDropped)
        report.metric(
            "reveille_calls_looked_up_total", .counter,
            "Calls looked up in the store, having left memory or never been.",
            core.counters.callsLookedUp)
        report.metric(
            "reveille_pushes", .gauge, "Pushes of the calls in memory, by where they stand with the provider.",
            ProviderStatus.allCases.map { ("status=\"\($0.rawValue)\"", Double(core.ledger.count($0))) })
        report.metric(
            "reveille_push_reports", .gauge, "Pushes sent of the calls in memory, by the device's word.",
            ReportStatus.allCases.map { ("report=\"\($0.rawValue)\"", Double(core.ledger.count($0))) })
        report.metric(
            "reveille_ledger_violations", .gauge, "Broken laws of the push ledger.", core.ledgerViolations.count)
        report.metric(
            "reveille_devices_suspended_total", .counter, "Devices taken off VoIP pushes.",
            core.counters.devicesSuspended)
        report.metric("reveille_sessions_resumed_total", .counter, "Sessions resumed.", core.counters.sessionsResumed)
        report.metric(
            "reveille_replay_overflows_total", .counter, "Sessions whose unacknowledged events did not fit.",
            core.counters.replayOverflows)
        report.metric(
            "reveille_limits_hit_total", .counter, "Requests turned away or cut by a bound of the core.",
            core.counters.limitsHit)
        report.metric(
            "reveille_core_held", .gauge, "What the core holds in memory.",
            [
                ("calls", core.census.calls), ("legs", core.census.legs), ("pushes", core.census.pushes),
                ("notices", core.census.notices), ("sessions", core.census.sessions),
                ("deadlines", core.census.deadlines), ("look_ups", core.census.lookUps),
            ].map { ("what=\"\($0)\"", Double($1)) })
        report.metric(
            "reveille_core_refused_total", .counter, "Requests refused because the core was behind.", core.inboxRefused)
        report.metric(
            "reveille_commits_pending", .gauge, "Batches whose outputs wait for the disk.", core.commitsPending)
    }

    private static func add(_ listener: WebSocketServer.Statistics, to report: inout PrometheusText) {
        func each(_ name: String, _ kind: PrometheusText.Kind, _ help: String, _ value: (ShardStatistics) -> Double) {
            report.metric(
                name, kind, help, listener.shards.enumerated().map { ("shard=\"\($0.offset)\"", value($0.element)) })
        }
        each("reveille_connections", .gauge, "WebSockets open.") { Double($0.connections) }
        each("reveille_messages_in_total", .counter, "Messages received.") { Double($0.messagesIn) }
        each("reveille_messages_out_total", .counter, "Messages sent.") { Double($0.messagesOut) }
        each("reveille_bytes_in_total", .counter, "Payload bytes received.") { Double($0.bytesIn) }
        each("reveille_bytes_out_total", .counter, "Payload bytes sent.") { Double($0.bytesOut) }
        each("reveille_slow_consumers_total", .counter, "Connections closed because they did not read.") {
            Double($0.slowConsumers)
        }
        each("reveille_ping_timeouts_total", .counter, "Connections closed because they did not answer a ping.") {
            Double($0.pingTimeouts)
        }
        report.metric("reveille_accepted_total", .counter, "Connections accepted.", listener.accepted)
        report.metric("reveille_connections_refused_total", .counter, "Connections over the limit.", listener.refused)
    }

    private static func add(_ signal: SignalCounters, to report: inout PrometheusText) {
        report.metric(
            "reveille_notifications_dropped_total", .counter, "Notifications that went unheard, by reason.",
            SignalCounters.Drop.allCases.map { ("reason=\"\($0.rawValue)\"", Double(signal.drops($0))) })
        report.metric(
            "reveille_http_questions_unanswered_total", .counter,
            "Questions by HTTP that the server had no room for, or no answer in time.", signal.unansweredQuestions)
    }

    private static func add(_ commits: CommitStatistics, waiting: Int, to report: inout PrometheusText) {
        report.metric("reveille_store_commits_total", .counter, "Transactions made durable.", commits.commits)
        report.metric("reveille_store_batches_total", .counter, "Batches in them.", commits.batches)
        report.metric("reveille_store_rows_total", .counter, "Rows written.", commits.rows)
        report.metric(
            "reveille_store_failures_total", .counter, "Commits that failed and were tried again.", commits.failures)
        report.metric("reveille_store_waiting", .gauge, "Batches that wait for the disk.", waiting)
        report.metric(
            "reveille_store_commit_seconds_total", .counter, "Time spent in transactions.",
            [("", Double(commits.latency.total.wholeMilliseconds) / 1000)])
    }

    private static func addProcess(to report: inout PrometheusText) {
        var usage = rusage()
        // The enumeration does not convert to the parameter's type by itself.
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        report.metric(
            "process_cpu_seconds_total", .counter, "CPU time of all threads.",
            [("", seconds(usage.ru_utime) + seconds(usage.ru_stime))])
        if let resident = residentBytes() {
            report.metric("process_resident_memory_bytes", .gauge, "Resident memory.", resident)
        }
    }

    /// The second field of `/proc/self/statm`, in pages (proc(5)).
    private static func residentBytes() -> Int? {
        guard let file = fopen("/proc/self/statm", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        let fields = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
            separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
