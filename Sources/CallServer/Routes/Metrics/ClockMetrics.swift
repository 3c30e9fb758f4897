import CallVocabulary

/// Metrics of the clocks.
enum ClockMetrics {
    static func add(_ figures: ServerClock.Figures, to report: inout PrometheusText) {
        report.metric(
            "reveille_clock_steps_total", .counter, "Steps of the system clock of half a second or more.",
            [
                ("direction=\"forward\"", Double(figures.stepsForward)),
                ("direction=\"backward\"", Double(figures.stepsBackward)),
            ])
        report.metric(
            "reveille_clock_suspensions_total", .counter, "Suspensions of the machine.", figures.suspensions)
        report.metric(
            "reveille_clock_suspended_seconds_total", .counter, "Total time the machine was suspended.",
            [("", Double(figures.suspended.wholeMilliseconds) / 1000)])
    }
}
