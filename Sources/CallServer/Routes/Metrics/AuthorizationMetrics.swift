import StoreInterface

/// The lines about the authorization hook.
enum AuthorizationMetrics {
    static func add(_ figures: AuthorizationHook.Figures, to report: inout PrometheusText) {
        report.metric(
            "reveille_authorization_questions_total", .counter, "Questions to the authorization hook, by result.",
            AuthorizationHook.Outcome.allCases.map {
                ("result=\"\($0.rawValue)\"", Double(figures.counts[$0] ?? 0))
            })
        report.metric(
            "reveille_authorization_circuit_open", .gauge,
            "1 while authorize.on_failure decides at once about users for whom the hook failed.",
            AuthorizationHook.Subject.allCases.map {
                ("question=\"\($0.rawValue)\"", figures.open.contains($0) ? 1 : 0)
            })
        report.histogram(
            "reveille_authorization_duration_seconds", "Time from a request to the hook to its answer or failure.",
            [
                (
                    "",
                    PrometheusText.Histogram(
                        buckets: figures.latency.buckets, bounds: LatencyCounts.bounds.map(PrometheusText.seconds),
                        sum: PrometheusText.seconds(figures.latency.total))
                )
            ])
    }
}
