import AdminProtocol
import PostgresStore
import StoreInterface

/// Metrics of the realm: who is its home.
enum RealmMetrics {
    static func add(_ term: TermView, to report: inout PrometheusText) {
        report.metric(
            "reveille_realm_home", .gauge, "1 on the realm's home, 0 on a standby. Only servers on PostgreSQL have it.",
            term.isHeld ? 1 : 0)
        report.metric("reveille_realm_epoch", .gauge, "The number of take-overs of the realm.", Int(term.epoch))
        report.metric(
            "reveille_realm_lease_remaining_seconds", .gauge,
            "What is left of the lease by the home's clock; nothing is released at 0.",
            [("", max(0, term.remaining / .seconds(1)))])
        report.metric(
            "reveille_realm_standbys", .gauge, "The servers that stand by, as the home sees them.", term.standbys.count)
    }

    /// The whole report of a standby.
    static func standby(_ sight: RealmSight?, _ problems: [ServerProblem], node: String) -> String {
        var report = PrometheusText()
        report.metric(
            "reveille_build_info", .gauge, "1, with the version.",
            [("version=\"\(CallServer.version)\",node=\"\(PrometheusText.label(node))\"", 1)])
        ProblemMetrics.add(problems, standsBy: true, to: &report)
        report.metric(
            "reveille_realm_home", .gauge, "1 on the realm's home, 0 on a standby. Only servers on PostgreSQL have it.",
            0)
        let isReachable = if case .unreachable? = sight { false } else { true }
        report.metric(
            "reveille_realm_reachable", .gauge, "1 while a standby reaches the database.", isReachable ? 1 : 0)
        ProcessFigures.now().add(to: &report)
        return report.text
    }
}
