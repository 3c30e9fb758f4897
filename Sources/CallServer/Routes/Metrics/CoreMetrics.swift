import CallCore
import CallVocabulary

/// Metrics of the call core.
enum CoreMetrics {
    static func add(_ core: CoreSnapshot, to report: inout PrometheusText) {
        addCalls(core, to: &report)
        addPushes(core, to: &report)
        addSessions(core, to: &report)
        report.metric("reveille_draining", .gauge, "1 while no new calls are taken.", core.isDraining ? 1 : 0)
        report.metric(
            "reveille_limits_hit_total", .counter, "Requests turned away or cut by a bound of the core, by the bound.",
            CoreLimit.allCases.map { ("limit=\"\($0.rawValue)\"", Double(core.counters.hits(of: $0))) })
        report.metric(
            "reveille_core_held", .gauge, "What the core holds in memory.",
            [
                ("calls", core.census.calls), ("legs", core.census.legs), ("pushes", core.census.pushes),
                ("notices", core.census.notices), ("sessions", core.census.sessions),
                ("deadlines", core.census.deadlines), ("look_ups", core.census.lookUps),
            ].map { ("what=\"\($0)\"", Double($1)) })
        report.metric(
            "reveille_commits_pending", .gauge, "Batches whose outputs wait for the disk.", core.commitsPending)
        report.metric(
            "reveille_commits_pending_limit", .gauge, "Pending commits at which the core stops taking input.",
            CoreLoop.pendingCommits)
    }

    private static func addCalls(_ core: CoreSnapshot, to report: inout PrometheusText) {
        report.metric("reveille_calls_live", .gauge, "Calls that are not over.", core.liveCalls)
        report.metric("reveille_calls_invited_total", .counter, "Calls taken in.", core.counters.callsInvited)
        report.metric("reveille_calls_answered_total", .counter, "Calls answered.", core.counters.callsAnswered)
        report.metric(
            "reveille_calls_connected_total", .counter, "Calls with media on both sides.", core.counters.callsConnected)
        report.metric(
            "reveille_calls_ended_total", .counter, "Calls that are over, by reason.",
            zip(EndReason.allCases, core.counters.callsEnded).map { ("reason=\"\($0.rawValue)\"", Double($1)) })
        report.metric(
            "reveille_calls_looked_up_total", .counter,
            "Calls looked up in the store, having left memory or never been.",
            core.counters.callsLookedUp)
        report.metric(
            "reveille_calls_left_to_store_total", .counter,
            "Calls that left memory within two minutes of their end, because of limits.ended_calls.",
            core.counters.callsLeftToStore)
        report.metric(
            "reveille_candidates_refused_total", .counter, "Candidates refused because the other side is away.",
            core.counters.candidatesRefused)
    }

    private static func addPushes(_ core: CoreSnapshot, to report: inout PrometheusText) {
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
    }

    private static func addSessions(_ core: CoreSnapshot, to report: inout PrometheusText) {
        report.metric("reveille_sessions_online", .gauge, "Sessions with a socket.", core.onlineSessions)
        report.metric(
            "reveille_sessions_away", .gauge, "Sessions without a socket that can still be resumed.",
            core.census.sessions - core.onlineSessions)
        report.metric("reveille_sessions_resumed_total", .counter, "Sessions resumed.", core.counters.sessionsResumed)
        report.metric(
            "reveille_replay_overflows_total", .counter, "Sessions whose unacknowledged events did not fit.",
            core.counters.replayOverflows)
    }
}
