import CallCore
import CallVocabulary
import WebSocketServer

/// Metrics of the call core.
enum CoreMetrics {
    static func add(_ core: CoreSnapshot, _ rates: RateLimiters, to report: inout PrometheusText) {
        addCalls(core, to: &report)
        addPushes(core, to: &report)
        addSessions(core, to: &report)
        report.metric("reveille_draining", .gauge, "1 while no new calls are taken.", core.isDraining ? 1 : 0)
        report.metric(
            "reveille_limits_hit_total", .counter,
            "Requests and connections refused or truncated at a limit, by limit.",
            CoreLimit.allCases.map { ("limit=\"\($0.rawValue)\"", Double(core.counters.hits(of: $0))) }
                + RateLimit.allCases.map { ("limit=\"\($0.rawValue)\"", Double(rates[$0].refused)) })
        report.metric(
            "reveille_core_held", .gauge, "Objects that the core holds in memory, by kind.",
            [
                ("calls", core.census.calls), ("legs", core.census.legs), ("pushes", core.census.pushes),
                ("notices", core.census.notices), ("sessions", core.census.sessions),
                ("deadlines", core.census.deadlines), ("look_ups", core.census.lookUps),
                ("users", core.census.users), ("idle_users", core.census.idleUsers),
            ].map { ("what=\"\($0)\"", Double($1)) })
        report.metric(
            "reveille_commits_pending", .gauge, "Batches whose outputs wait for the disk.", core.commitsPending)
        report.metric(
            "reveille_commits_pending_limit", .gauge, "Pending commits at which the core stops taking input.",
            CoreLoop.pendingCommits)
    }

    private static func addCalls(_ core: CoreSnapshot, to report: inout PrometheusText) {
        report.metric("reveille_calls_live", .gauge, "Calls that have not ended.", core.liveCalls)
        report.metric("reveille_calls_invited_total", .counter, "Invites accepted.", core.counters.callsInvited)
        report.metric(
            "reveille_calls_forwarded_total", .counter, "Calls forwarded by their callee to another target.",
            core.counters.callsForwarded)
        report.metric(
            "reveille_calls_blocked_total", .counter, "Calls refused by a user's block list.",
            core.counters.callsBlocked)
        report.metric("reveille_calls_answered_total", .counter, "Calls answered.", core.counters.callsAnswered)
        report.metric(
            "reveille_calls_connected_total", .counter, "Calls with media on both sides.",
            core.counters.callsConnected)
        report.metric(
            "reveille_calls_ended_total", .counter, "Calls ended, by end reason.",
            zip(EndReason.allCases, core.counters.callsEnded).map { ("reason=\"\($0.rawValue)\"", Double($1)) })
        report.metric(
            "reveille_calls_looked_up_total", .counter,
            "Calls looked up in the store because they were not in memory.",
            core.counters.callsLookedUp)
        report.metric(
            "reveille_users_looked_up_total", .counter,
            "Names of users, aliases and groups looked up in the store because they were not in memory.",
            core.counters.usersLookedUp)
        report.metric(
            "reveille_calls_left_to_store_total", .counter,
            "Ended calls evicted from memory in under two minutes because of limits.ended_calls.",
            core.counters.callsLeftToStore)
        report.metric(
            "reveille_candidates_refused_total", .counter, "ICE candidates refused: no room to keep them.",
            core.counters.candidatesRefused)
    }

    private static func addPushes(_ core: CoreSnapshot, to report: inout PrometheusText) {
        report.metric(
            "reveille_pushes_intended_total", .counter, "Pushes intended for calls.",
            core.counters.pushesIntended)
        report.metric(
            "reveille_pushes_recovered_total", .counter, "Open pushes loaded at the start.",
            core.counters.pushesRecovered)
        report.metric(
            "reveille_notices_intended_total", .counter, "Pushes intended for missed calls.",
            core.counters.noticesIntended)
        report.metric(
            "reveille_notices_dropped_total", .counter, "Pushes for missed calls dropped because their queue was full.",
            core.counters.noticesDropped)
        report.metric(
            "reveille_pushes", .gauge, "Pushes of the calls in memory, by delivery state at the provider.",
            ProviderStatus.allCases.map { ("status=\"\($0.rawValue)\"", Double(core.ledger.count($0))) })
        report.metric(
            "reveille_push_reports", .gauge, "Sent pushes of the calls in memory, by the device's report.",
            ReportStatus.allCases.map { ("report=\"\($0.rawValue)\"", Double(core.ledger.count($0))) })
        report.metric(
            "reveille_ledger_violations", .gauge, "Violated invariants of the push ledger.", core.ledgerViolations.count
        )
        report.metric(
            "reveille_devices_suspended_total", .counter, "Devices suspended from VoIP pushes.",
            core.counters.devicesSuspended)
        report.metric(
            "reveille_devices_dropped_total", .counter, "Devices dropped with their push tokens, by cause.",
            zip(DeviceDropCause.allCases, core.counters.devicesDropped).map {
                ("cause=\"\($0.rawValue)\"", Double($1))
            })
    }

    private static func addSessions(_ core: CoreSnapshot, to report: inout PrometheusText) {
        report.metric("reveille_sessions_online", .gauge, "Sessions with an open WebSocket.", core.onlineSessions)
        report.metric(
            "reveille_sessions_away", .gauge, "Sessions without a WebSocket that can still be resumed.",
            core.census.sessions - core.onlineSessions)
        report.metric("reveille_sessions_resumed_total", .counter, "Sessions resumed.", core.counters.sessionsResumed)
        report.metric(
            "reveille_replay_overflows_total", .counter,
            "Sessions that overflowed their buffer of unacknowledged events.",
            core.counters.replayOverflows)
    }
}
