import EventLoop

/// Metrics of the event loops of the call path. Work for a saturated loop waits in the kernel, and appears in no queue
/// metric.
enum LoopMetrics {
    /// Each loop once: a shard that shares the core's loop is omitted.
    static func loops(core: EventLoop, shards: [EventLoop]) -> [(name: String, loop: EventLoop)] {
        [("core", core)] + shards.enumerated().filter { $0.element !== core }.map { ("shard_\($0.offset)", $0.element) }
    }

    static func add(_ loops: [(name: String, statistics: LoopStatistics)], to report: inout PrometheusText) {
        report.metric(
            "reveille_loop_busy_seconds_total", .counter, "Time an event loop was busy, by loop.",
            loops.map { (label($0.name), PrometheusText.seconds($0.statistics.busy)) })
        report.histogram(
            "reveille_loop_turn_duration_seconds", "Duration of one turn of an event loop.",
            loops.map { name, statistics in
                (
                    label(name),
                    PrometheusText.Histogram(
                        buckets: statistics.turns, bounds: LoopStatistics.bounds.map(PrometheusText.seconds),
                        sum: PrometheusText.seconds(statistics.busy))
                )
            })
    }

    private static func label(_ name: String) -> String { "loop=\"\(name)\"" }
}
