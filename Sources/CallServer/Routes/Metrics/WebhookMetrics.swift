import AdminProtocol
import CallVocabulary

/// Metrics of the webhooks, by endpoint.
enum WebhookMetrics {
    /// - Parameter now: wall time.
    static func add(_ endpoints: [WebhookView], now: Instant, to report: inout PrometheusText) {
        func samples(_ value: (WebhookView) -> Double) -> [(String, Double)] {
            endpoints.map { ("endpoint=\"\($0.name)\"", value($0)) }
        }
        report.metric(
            "reveille_webhook_events_taken_total", .counter, "Events that the endpoint has taken.",
            samples { Double($0.taken) })
        report.metric(
            "reveille_webhook_attempts_failed_total", .counter, "Attempts to send an event that failed.",
            samples { Double($0.failedAttempts) })
        report.metric(
            "reveille_webhook_events_given_up_total", .counter, "Events given up after the last attempt.",
            samples { Double($0.givenUp) })
        report.metric(
            "reveille_webhook_backlog", .gauge, "Events that wait for the endpoint.", samples { Double($0.backlog) })
        report.metric(
            "reveille_webhook_oldest_seconds", .gauge, "Age of the oldest event that waits for the endpoint.",
            samples { $0.oldestAt.map { Double(max(0, (now - $0.instant).wholeMilliseconds)) / 1000 } ?? 0 })
        report.metric(
            "reveille_webhook_active", .gauge,
            "1 while events are sent; 0 while the endpoint fails, is paused or disabled.",
            samples { $0.state == .active ? 1 : 0 })
    }
}
