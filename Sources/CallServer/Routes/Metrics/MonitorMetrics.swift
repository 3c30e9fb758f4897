import AdminProtocol
import CallMonitor
import CallVocabulary

/// Metrics of the monitor.
enum MonitorMetrics {
    static func add(calls: [CallState: Int], stages: StageLatencies, to report: inout PrometheusText) {
        let states = CallState.allCases.filter(\.isLive)
        report.metric(
            "reveille_calls_in_state", .gauge, "Live calls, by state.",
            states.map { ("state=\"\($0.rawValue)\"", Double(calls[$0] ?? 0)) })
        let bounds = StageLatencies.bounds.map { Double($0.wholeMilliseconds) / 1000 }
        report.histogram(
            "reveille_call_stage_duration_seconds", "Duration of a stage of a call, by stage.",
            CallStage.allCases.map { stage in
                let histogram = stages.histogram(of: stage)
                return (
                    "stage=\"\(stage.rawValue)\"",
                    PrometheusText.Histogram(
                        cumulative: Array(zip(bounds.map(Optional.some) + [nil], histogram.cumulative)),
                        sum: Double(histogram.total.wholeMilliseconds) / 1000)
                )
            })
    }
}
