/// The metrics of a server at one moment, from Prometheus' text format.
struct ServerMetrics: Sendable {
    /// Sums of all series of a name.
    private var sums: [String: Double] = [:]
    /// By name and labels, as written.
    private var series: [String: Double] = [:]

    init(text: Substring) {
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                continue
            }
            let key = line[..<space]
            sums[String(key.prefix { $0 != "{" }), default: 0] += value
            series[String(key)] = value
        }
    }

    /// The sum of all series of `name`; nil when there is none.
    subscript(name: String) -> Double? { sums[name] }

    /// The series of `name` with just these labels, as `reason="hangup"`.
    subscript(name: String, labels: String) -> Double? { series["\(name){\(labels)}"] }

    /// CPU time of all its threads since its start.
    var cpu: Duration? { self["process_cpu_seconds_total"].map { .seconds($0) } }
    var residentBytes: Double? { self["process_resident_memory_bytes"] }
    /// Pushes of calls that it has written to their provider's connection.
    var pushesWritten: Double? { self["reveille_push_wire_seconds_count"] }
    /// Those of them that it wrote within 10 ms of deciding on them.
    var pushesWrittenInTime: Double? {
        let bucket = "reveille_push_wire_seconds_bucket{"
        let times = series.filter { $0.key.hasPrefix(bucket) && $0.key.hasSuffix(#",le="0.01"}"#) }
        return times.isEmpty ? nil : times.values.reduce(0, +)
    }
    /// Broken laws of the push ledger.
    var ledgerViolations: Double? { self["reveille_ledger_violations"] }
    /// Notifications of clients that its rate limit took: candidates, and acks of events.
    var droppedByLimit: Double? { self["reveille_notifications_dropped_total", #"reason="rate_limited""#] }

    /// Counters that start at zero with each process.
    private static let counters = [
        "process_cpu_seconds_total", "reveille_calls_invited_total", "reveille_sessions_resumed_total",
        "reveille_pushes_intended_total",
    ]
    /// In seconds. The start of a process is derived from the clock, and varies by less.
    private static let clockTolerance = 1.5

    /// Whether the server was restarted between `before` and these metrics.
    func isRestarted(since before: ServerMetrics) -> Bool {
        func has(_ name: String, grownBy isSo: (Double) -> Bool) -> Bool {
            self[name].flatMap { now in before[name].map { isSo(now - $0) } } ?? false
        }
        return has("process_start_time_seconds") { $0 > Self.clockTolerance }
            || Self.counters.contains { has($0) { $0 < 0 } }
    }
}
